;; Rejects four billion records, of a list that would be longer than memory can be.
(module
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    i32.const 1024)
  (data (i32.const 1032) "\00\04\00\00\ff\ff\ff\ff"))
