;; Writes 60 MiB at once.
(module
  (import "host" "memory" (memory 1))
  (import "host" "get-stdout" (func $stdout (result i32)))
  (import "host" "write" (func $write (param i32 i32 i32 i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (memory.grow (i32.const 960)))
    (call $write (call $stdout) (i32.const 0) (i32.const 62914560) (i32.const 2048))
    i32.const 1024))
