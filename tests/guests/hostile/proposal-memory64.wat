;; A memory with addresses of 64 bits.
(module
  (memory (export "memory") i64 1))
