;; Structures that a collector would have to look after.
(module
  (type $pair (struct (field i64) (field (ref null $pair))))
  (func (result (ref $pair)) (struct.new $pair (i64.const 1) (ref.null $pair))))
