;; Grows until it is refused before anybody has called anything, and breaks then.
(module
  (func $start
    (loop
      (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable))
      (br 0)))
  (start $start))
