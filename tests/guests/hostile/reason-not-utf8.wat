;; Fatal, with a reason that is not UTF-8.
(module
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    i32.const 1024)
  (data (i32.const 1024) "\02\00\00\00\00\00\00\00" "\00\08\00\00\03\00\00\00")
  (data (i32.const 2048) "\ed\a0\80"))
