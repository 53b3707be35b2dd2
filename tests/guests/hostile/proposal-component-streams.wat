;; Makes a stream, which belongs to the same rules.
(component
  (type $s (stream u8))
  (core func (canon stream.new $s))
  (instance $none)
  (export "gristmill:plugin/handler@0.1.0" (instance $none)))
