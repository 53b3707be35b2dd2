;; Fatal, with a reason of four gigabytes.
(module
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    i32.const 1024)
  (data (i32.const 1024) "\02\00\00\00\00\00\00\00" "\00\04\00\00\ff\ff\ff\ff"))
