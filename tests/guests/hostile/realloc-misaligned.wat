;; Says that there is room for the batch at an address that is not aligned.
(module
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 65537))
