;; Rejects three thousand records, all with the same forty kilobytes as their reason: small here, 120 MB for whoever copies it.
(module
  (memory (export "memory") 4)
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.const 90000))
    (loop $more
      ;; Index, address and length of the reason.
      (i32.store (local.get $at) (i32.const 0))
      (i32.store offset=4 (local.get $at) (i32.const 131072))
      (i32.store offset=8 (local.get $at) (i32.const 40000))
      (local.set $at (i32.add (local.get $at) (i32.const 12)))
      (br_if $more (i32.lt_u (local.get $at) (i32.const 126000))))
    (memory.fill (i32.const 131072) (i32.const 120) (i32.const 40000))
    (i32.store (i32.const 1032) (i32.const 90000))
    (i32.store (i32.const 1036) (i32.const 3000))
    i32.const 1024))
