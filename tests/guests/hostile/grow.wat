;; Grows and touches its memory until it is refused, and breaks then.
(module
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (loop
      (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable))
      (memory.fill (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 1048576)) (i32.const 1) (i32.const 1048576))
      (br 0))
    unreachable))
