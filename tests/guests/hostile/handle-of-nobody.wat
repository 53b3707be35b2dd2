;; Waits for something that it was never given.
(module
  (import "host" "memory" (memory 1))
  (import "host" "block" (func $block (param i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (call $block (i32.const 4711))
    i32.const 1024))
