;; The same with the host call that has the deepest stack in the host: a wait, for nothing.
(module
  (import "host" "memory" (memory 1))
  (import "host" "subscribe-duration" (func $subscribe (param i64) (result i32)))
  (import "host" "block" (func $block (param i32)))
  (export "memory" (memory 0))
  (func $down (param i32) (result i32)
    (call $block (local.get 0))
    (i32.add (call $down (local.get 0)) (local.get 0)))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (call $down (call $subscribe (i64.const 0))))
    i32.const 1024))
