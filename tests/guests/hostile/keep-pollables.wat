;; Keeps a million waits for an hour each.
(module
  (import "host" "memory" (memory 1))
  (import "host" "subscribe-duration" (func $subscribe (param i64) (result i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $left i32)
    (local.set $left (i32.const 1000000))
    (loop
      (drop (call $subscribe (i64.const 3600000000000)))
      (br_if 0 (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    i32.const 1024))
