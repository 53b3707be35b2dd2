;; Waits for another thread, which no ordinary limit of time reaches.
(module
  (memory (export "memory") 1)
  (func (drop (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const -1)))))
