;; Makes an error context.
(component
  (core module $m (memory (export "memory") 1))
  (core instance $i (instantiate $m))
  (core func (canon error-context.drop)))
