;; Writes four megabytes at once, more than it was allowed, without an end.
(module
  (import "host" "memory" (memory 1))
  (import "host" "get-stdout" (func $stdout (result i32)))
  (import "host" "write" (func $write (param i32 i32 i32 i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $out i32)
    (drop (memory.grow (i32.const 100)))
    (local.set $out (call $stdout))
    (loop (call $write (local.get $out) (i32.const 0) (i32.const 4000000) (i32.const 2048)) (br 0))
    unreachable))
