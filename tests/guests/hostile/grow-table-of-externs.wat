;; The same with references to what is not WebAssembly.
(module
  (table $t 0 externref)
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (loop
      (if (i32.eq (table.grow $t (ref.null extern) (i32.const 100000)) (i32.const -1)) (then unreachable))
      (br 0))
    unreachable))
