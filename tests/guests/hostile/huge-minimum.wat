;; Wants four gigabytes from the start.
(module
  (memory (export "memory") 65536))
