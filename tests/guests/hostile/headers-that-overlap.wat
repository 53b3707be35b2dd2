;; Emits a thousand records of a thousand headers, all of them the same 128 KiB: 131 GB for whoever copies it.
(module
  (memory (export "memory") 8)
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $at i32)
    ;; Headers from 131072: address and length of the name, then a value that is there, its address and its length.
    (local.set $at (i32.const 131072))
    (loop $more
      (i32.store8 offset=8 (local.get $at) (i32.const 1))
      (i32.store offset=12 (local.get $at) (i32.const 262144))
      (i32.store offset=16 (local.get $at) (i32.const 131072))
      (local.set $at (i32.add (local.get $at) (i32.const 20)))
      (br_if $more (i32.lt_u (local.get $at) (i32.const 151072))))
    ;; Records from 200000: the sink's name, no key, no value, the headers.
    (local.set $at (i32.const 200000))
    (loop $more
      (i32.store (local.get $at) (i32.const 512))
      (i32.store offset=4 (local.get $at) (i32.const 3))
      (i32.store offset=32 (local.get $at) (i32.const 131072))
      (i32.store offset=36 (local.get $at) (i32.const 1000))
      (local.set $at (i32.add (local.get $at) (i32.const 56)))
      (br_if $more (i32.lt_u (local.get $at) (i32.const 256000))))
    (i32.store (i32.const 1040) (i32.const 200000))
    (i32.store (i32.const 1044) (i32.const 1000))
    i32.const 1024)
  (data (i32.const 512) "out"))
