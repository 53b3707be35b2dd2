;; Asks for as many random bytes as it may, without an end.
(module
  (import "host" "memory" (memory 1))
  (import "host" "random-bytes" (func $random (param i64 i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (loop (call $random (i64.const 65536) (i32.const 2048)) (br 0))
    unreachable))
