;; Arithmetic on 128 bits.
(module
  (func (param i64 i64 i64 i64) (result i64 i64)
    (i64.add128 (local.get 0) (local.get 1) (local.get 2) (local.get 3))))
