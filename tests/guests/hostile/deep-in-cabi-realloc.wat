;; Calls itself without an end where the host asks for room.
(module
  (func $down (param i64) (result i64)
    (i64.add (call $down (i64.add (local.get 0) (i64.const 1))) (local.get 0)))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (i32.wrap_i64 (call $down (i64.const 0)))))
