;; Keeps a million handles of the network.
(module
  (import "host" "memory" (memory 1))
  (import "host" "instance-network" (func $network (result i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $left i32)
    (local.set $left (i32.const 1000000))
    (loop
      (drop (call $network))
      (br_if 0 (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    i32.const 1024))
