;; Grows its table until it is refused, and breaks then.
(module
  (table $t 0 funcref)
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (loop
      (if (i32.eq (table.grow $t (ref.null func) (i32.const 100000)) (i32.const -1)) (then unreachable))
      (br 0))
    unreachable))
