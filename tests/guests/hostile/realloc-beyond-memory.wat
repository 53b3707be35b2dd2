;; Says that there is room for the batch where there is no memory.
(module
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const -8))
