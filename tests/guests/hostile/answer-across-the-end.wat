;; Its answer begins in its memory and ends behind it.
(module
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    i32.const 131064))
