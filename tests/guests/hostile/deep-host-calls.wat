;; Calls itself without an end, and the host at every level.
(module
  (import "host" "memory" (memory 1))
  (import "host" "now" (func $now (result i64)))
  (export "memory" (memory 0))
  (func $down (param i64) (result i64)
    (i64.add (call $down (call $now)) (local.get 0)))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (call $down (i64.const 0)))
    i32.const 1024))
