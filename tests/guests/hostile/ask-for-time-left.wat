;; Asks how much time is left until none is.
(module
  (import "host" "memory" (memory 1))
  (import "host" "time-left-ms" (func $left (result i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (loop (br_if 0 (call $left)))
    (loop (br 0))
    unreachable))
