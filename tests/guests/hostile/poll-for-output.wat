;; Waits without an end for what is always ready.
(module
  (import "host" "memory" (memory 1))
  (import "host" "get-stdout" (func $stdout (result i32)))
  (import "host" "subscribe" (func $subscribe (param i32) (result i32)))
  (import "host" "block" (func $block (param i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $ready i32)
    (local.set $ready (call $subscribe (call $stdout)))
    (loop (call $block (local.get $ready)) (br 0))
    unreachable))
