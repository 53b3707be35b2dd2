;; Calls itself in place, without an end and without a stack.
(module
  (func $f (return_call $f)))
