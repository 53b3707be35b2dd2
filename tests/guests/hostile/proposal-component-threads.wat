;; Asks how many threads there may be.
(component
  (core func (canon thread.available_parallelism))
  (instance $none)
  (export "gristmill:plugin/handler@0.1.0" (instance $none)))
