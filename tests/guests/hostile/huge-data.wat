;; Wants its memory filled beyond its end.
(module
  (memory (export "memory") 1)
  (data (i32.const 65530) "beyond the end"))
