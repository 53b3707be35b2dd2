;; A component that says that its code takes a batch, and code that takes nothing.
(module
  (func (export "process-batch") (result i32) i32.const 1024))
