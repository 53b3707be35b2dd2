;; Loops in the start function, before anybody has called anything.
(module
  (func $start (loop (br 0)))
  (start $start))
