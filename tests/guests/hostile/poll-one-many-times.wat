;; Waits for what is over already, five hundred times in one list, again and again.
(module
  (import "host" "memory" (memory 1))
  (import "host" "subscribe-duration" (func $subscribe (param i64) (result i32)))
  (import "host" "poll" (func $poll (param i32 i32 i32)))
  (export "memory" (memory 0))
  (func $fill (param $handle i32)
    (local $at i32)
    (local.set $at (i32.const 1048576))
    (loop $more
      (i32.store (local.get $at) (local.get $handle))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $more (i32.lt_u (local.get $at) (i32.const 1050576)))))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (memory.grow (i32.const 32)))
    (call $fill (call $subscribe (i64.const 0)))
    (loop
      (call $poll (i32.const 1048576) (i32.const 500) (i32.const 2048))
      (br 0))
    unreachable))
