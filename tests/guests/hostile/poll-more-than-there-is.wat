;; Waits for as many things as fit into a list of 64 MiB, all of them the same.
(module
  (import "host" "memory" (memory 1))
  (import "host" "poll" (func $poll (param i32 i32 i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (memory.grow (i32.const 900)))
    (call $poll (i32.const 1048576) (i32.const 14000000) (i32.const 2048))
    i32.const 1024))
