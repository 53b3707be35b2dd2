;; Leaves a mark in memory, in the memory that it grows by, in a global and in a table; fatal where it finds one, which another
;; batch must have left.
(module
  (memory (export "memory") 2)
  (global $mark (mut i64) (i64.const 0))
  (table $table 1 funcref)
  (elem declare func $f)
  (func $f)
  (func $spoilt (result i32)
    (i32.store8 (i32.const 1024) (i32.const 2))
    i32.const 1024)
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local $end i32)
    (drop (memory.grow (i32.const 256)))
    (if (i64.ne (global.get $mark) (i64.const 0)) (then (return (call $spoilt))))
    (if (i32.eqz (ref.is_null (table.get $table (i32.const 0)))) (then (return (call $spoilt))))
    (local.set $end (i32.mul (memory.size) (i32.const 65536)))
    ;; Behind the batch, which lies from 65536 on.
    (local.set $at (i32.const 131072))
    (loop $more
      (if (i64.ne (i64.load (local.get $at)) (i64.const 0)) (then (return (call $spoilt))))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $more (i32.lt_u (local.get $at) (local.get $end))))
    (global.set $mark (i64.const 81985529216486895))
    (table.set $table (i32.const 0) (ref.func $f))
    (memory.fill (i32.const 131072) (i32.const 165) (i32.sub (local.get $end) (i32.const 131072)))
    i32.const 1024))
