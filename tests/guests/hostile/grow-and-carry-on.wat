;; Grows and touches its memory until it is refused, asks a hundred thousand times more, and answers ok.
(module
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $left i32)
    (local.set $left (i32.const 100000))
    (loop $more
      (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1))
        (then
          (memory.fill (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 65536)) (i32.const 1) (i32.const 65536))
          (br $more)))
      (drop (memory.grow (i32.const 65535)))
      (br_if $more (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    i32.const 1024))
