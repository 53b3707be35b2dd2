;; Has the host copy as much as can be said from its standard input to its standard output, without an end.
(module
  (import "host" "memory" (memory 1))
  (import "host" "get-stdout" (func $stdout (result i32)))
  (import "host" "get-stdin" (func $stdin (result i32)))
  (import "host" "splice" (func $splice (param i32 i32 i64 i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $in i32) (local $out i32)
    (local.set $in (call $stdin))
    (local.set $out (call $stdout))
    (loop (call $splice (local.get $out) (local.get $in) (i64.const -1) (i32.const 2048)) (br 0))
    unreachable))
