;; Keeps a million look-ups of a name that it was not granted.
(module
  (import "host" "memory" (memory 1))
  (import "host" "instance-network" (func $network (result i32)))
  (import "host" "resolve-addresses" (func $resolve (param i32 i32 i32 i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $left i32)
    (local $network i32)
    (local.set $network (call $network))
    (local.set $left (i32.const 1000000))
    (loop
      (call $resolve (local.get $network) (i32.const 512) (i32.const 9) (i32.const 2048))
      (br_if 0 (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    i32.const 1024)
  (data (i32.const 512) "localhost"))
