;; Reads as much as can be said from its standard input, where nothing comes, without an end.
(module
  (import "host" "memory" (memory 1))
  (import "host" "get-stdin" (func $stdin (result i32)))
  (import "host" "blocking-read" (func $read (param i32 i64 i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $in i32)
    (local.set $in (call $stdin))
    (loop (call $read (local.get $in) (i64.const -1) (i32.const 2048)) (br 0))
    unreachable))
