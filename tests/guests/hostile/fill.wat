;; Fills 60 MiB again and again: one instruction each time, in whose middle nothing interrupts.
(module
  (memory (export "memory") 960)
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (loop
      (memory.fill (i32.const 65536) (i32.const 7) (i32.const 62783488))
      (br 0))
    unreachable))
