;; A memory in pages of one byte.
(module
  (memory (export "memory") 1 (pagesize 1)))
