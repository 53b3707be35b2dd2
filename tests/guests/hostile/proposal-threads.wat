;; A memory that threads could share.
(module
  (memory (export "memory") 1 1 shared))
