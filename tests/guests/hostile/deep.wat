;; Calls itself without an end.
(module
  (func $down (param i64) (result i64)
    (i64.add (call $down (i64.add (local.get 0) (i64.const 1))) (local.get 0)))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (call $down (i64.const 0)))
    i32.const 1024))
