;; Two memories in one module.
(module
  (memory (export "memory") 1)
  (memory 1))
