;; Rejects one record, from an address that is not aligned.
(module
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    i32.const 1024)
  (data (i32.const 1032) "\01\04\00\00\01\00\00\00"))
