;; Breaks in the start function.
(module
  (func $start unreachable)
  (start $start))
