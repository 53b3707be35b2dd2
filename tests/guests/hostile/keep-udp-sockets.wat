;; Makes a hundred thousand UDP sockets.
(module
  (import "host" "memory" (memory 1))
  (import "host" "create-udp-socket" (func $socket (param i32 i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $left i32)
    (local.set $left (i32.const 100000))
    (loop
      (call $socket (i32.const 0) (i32.const 2048))
      (br_if 0 (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    i32.const 1024))
