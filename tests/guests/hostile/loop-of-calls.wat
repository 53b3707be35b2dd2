;; The same by calls, so that no loop has a branch back.
(module
  (table 1 funcref)
  (elem (i32.const 0) $thousand)
  (type $f (func))
  (func $one)
  (func $ten
    call $one call $one call $one call $one call $one call $one call $one call $one call $one call $one)
  (func $hundred
    call $ten call $ten call $ten call $ten call $ten call $ten call $ten call $ten call $ten call $ten)
  (func $thousand
    call $hundred call $hundred call $hundred call $hundred call $hundred
    call $hundred call $hundred call $hundred call $hundred call $hundred)
  (func $many (param $deep i32)
    (if (local.get $deep)
      (then
        (call $many (i32.sub (local.get $deep) (i32.const 1)))
        (call $many (i32.sub (local.get $deep) (i32.const 1))))
      (else (call_indirect (type $f) (i32.const 0)))))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    ;; A thousand calls, two to the sixtieth times.
    (call $many (i32.const 60))
    i32.const 1024))
