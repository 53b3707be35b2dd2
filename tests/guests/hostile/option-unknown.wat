;; Retryable, with a wait that is neither there nor not there.
(module
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    i32.const 1024)
  (data (i32.const 1024) "\01")
  (data (i32.const 1040) "\02"))
