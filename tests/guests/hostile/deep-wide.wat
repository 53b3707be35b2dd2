;; Calls itself without an end, with a frame of many kilobytes each time: the next one may lie far beyond the end of the stack.
(module
  (func $sum (param $v v128) (param $n i32) (result v128)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (if (i32.eqz (local.get $n)) (then (return (local.get $v))))
    (local.set $a (call $sum (i64x2.add (local.get $v) (v128.const i64x2 1 2)) (local.get $n)))
    (local.set $b (call $sum (i64x2.add (local.get $a) (v128.const i64x2 3 4)) (local.get $n)))
    (local.set $c (call $sum (i64x2.add (local.get $b) (v128.const i64x2 5 6)) (local.get $n)))
    (local.set $d (call $sum (i64x2.add (local.get $c) (v128.const i64x2 7 8)) (local.get $n)))
    (i64x2.add (i64x2.add (local.get $a) (local.get $b)) (i64x2.add (local.get $c) (local.get $d))))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (call $sum (v128.const i64x2 0 0) (i32.const 1)))
    i32.const 1024))
