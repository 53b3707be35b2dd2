;; Asks how many threads there may be.
(component
  (core func (canon thread.available_parallelism)))
