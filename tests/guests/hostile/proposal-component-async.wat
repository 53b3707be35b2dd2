;; A function that the host would have to wait for, lifted by the rules of asynchronous components.
(component
  (core module $m
    (func (export "f") (result i32) i32.const 0)
    (func (export "callback") (param i32 i32 i32) (result i32) i32.const 0))
  (core instance $i (instantiate $m))
  (func (export "f") async (canon lift (core func $i "f") async (callback (core func $i "callback"))))
  (instance $none)
  (export "gristmill:plugin/handler@0.1.0" (instance $none)))
