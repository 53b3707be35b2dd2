;; Has the host write two to the 63rd zeroes for it, and make them first.
(module
  (import "host" "memory" (memory 1))
  (import "host" "get-stdout" (func $stdout (result i32)))
  (import "host" "write-zeroes" (func $zeroes (param i32 i64 i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (call $zeroes (call $stdout) (i64.const -9223372036854775808) (i32.const 2048))
    i32.const 1024))
