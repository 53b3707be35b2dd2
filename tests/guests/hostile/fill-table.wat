;; Fills a table of eight million elements again and again.
(module
  (table $t 0 funcref)
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (table.grow $t (ref.null func) (i32.const 8000000)))
    (loop
      (table.fill $t (i32.const 0) (ref.func $f) (table.size $t))
      (br 0))
    unreachable)
  (func $f)
  (elem declare func $f))
