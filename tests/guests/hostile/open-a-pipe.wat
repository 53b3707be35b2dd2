;; Opens a pipe that came into a granted folder after the load, a hundred times; fatal where it is given.
(module
  (import "host" "memory" (memory 1))
  (import "host" "get-directories" (func $folders (param i32)))
  (import "host" "open-at" (func $open (param i32 i32 i32 i32 i32 i32 i32)))
  (export "memory" (memory 0))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $left i32)
    (local $given i32)
    (call $folders (i32.const 2048))
    (local.set $left (i32.const 100))
    (loop
      (call $open (i32.load (i32.const 196608))
        (i32.const 1) (i32.const 512) (i32.const 4) (i32.const 0) (i32.const 1) (i32.const 2048))
      (if (i32.eqz (i32.load8_u (i32.const 2048))) (then (local.set $given (i32.add (local.get $given) (i32.const 1)))))
      (br_if 0 (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    (if (local.get $given) (then (i32.store8 (i32.const 1024) (i32.const 2))))
    i32.const 1024)
  (data (i32.const 512) "pipe"))
