;; Asks for its settings without an end.
(module
  (import "host" "memory" (memory 1))
  (import "host" "get-environment" (func $environment (param i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (loop (call $environment (i32.const 2048)) (br 0))
    unreachable))
