;; Loops where the host asks for room for the batch.
(module
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (loop (br 0)) unreachable))
