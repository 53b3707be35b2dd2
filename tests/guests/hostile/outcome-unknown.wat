;; An outcome that is none of the three.
(module
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    i32.const 1024)
  (data (i32.const 1024) "\ff"))
