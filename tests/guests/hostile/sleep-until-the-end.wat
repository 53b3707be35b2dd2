;; Waits until the last instant that can be said.
(module
  (import "host" "memory" (memory 1))
  (import "host" "subscribe-instant" (func $subscribe (param i64) (result i32)))
  (import "host" "block" (func $block (param i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (call $block (call $subscribe (i64.const -1)))
    i32.const 1024))
