;; Makes an error context.
(component
  (core module $m (memory (export "memory") 1))
  (core instance $i (instantiate $m))
  (core func (canon error-context.drop))
  (instance $none)
  (export "gristmill:plugin/handler@0.1.0" (instance $none)))
