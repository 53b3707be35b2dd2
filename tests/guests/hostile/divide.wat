;; Does nothing but the slowest arithmetic.
(module
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $x i64)
    (local.set $x (i64.const 9223372036854775807))
    (loop
      (local.set $x (i64.add (i64.const 9223372036854775806) (i64.rem_u (local.get $x) (i64.const 3))))
      (br 0))
    unreachable))
