;; Its answer lies where there is no memory.
(module
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    i32.const -8))
