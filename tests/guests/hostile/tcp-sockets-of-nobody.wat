;; Makes a hundred thousand TCP sockets where no connection is granted; fatal where one is given, or the last is not denied.
(module
  (import "host" "memory" (memory 1))
  (import "host" "create-tcp-socket" (func $socket (param i32 i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $left i32)
    (local $given i32)
    (local.set $left (i32.const 100000))
    (loop
      (call $socket (i32.const 0) (i32.const 2048))
      (if (i32.eqz (i32.load8_u (i32.const 2048))) (then (local.set $given (i32.add (local.get $given) (i32.const 1)))))
      (br_if 0 (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    (if (local.get $given) (then (i32.store8 (i32.const 1024) (i32.const 2))))
    (if (i32.ne (i32.load8_u (i32.const 2052)) (i32.const 1)) (then (i32.store8 (i32.const 1024) (i32.const 2))))
    i32.const 1024))
