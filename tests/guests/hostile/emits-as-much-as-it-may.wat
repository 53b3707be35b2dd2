;; Emits 480 records whose values are the same 128 KiB: 60 MiB for the host, which is what it may.
(module
  (memory (export "memory") 4)
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.const 98304))
    (loop $more
      (i32.store (local.get $at) (i32.const 512))
      (i32.store offset=4 (local.get $at) (i32.const 3))
      (i32.store8 offset=20 (local.get $at) (i32.const 1))
      (i32.store offset=24 (local.get $at) (i32.const 131072))
      (i32.store offset=28 (local.get $at) (i32.const 131072))
      (local.set $at (i32.add (local.get $at) (i32.const 56)))
      (br_if $more (i32.lt_u (local.get $at) (i32.const 125184))))
    (i32.store (i32.const 1040) (i32.const 98304))
    (i32.store (i32.const 1044) (i32.const 480))
    i32.const 1024)
  (data (i32.const 512) "out"))
