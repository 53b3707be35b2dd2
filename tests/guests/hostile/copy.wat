;; Copies 30 MiB to and fro, to places that overlap.
(module
  (memory (export "memory") 960)
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (loop
      (memory.copy (i32.const 131073) (i32.const 65536) (i32.const 62717951))
      (memory.copy (i32.const 65536) (i32.const 131073) (i32.const 62717951))
      (br 0))
    unreachable))
