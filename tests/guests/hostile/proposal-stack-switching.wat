;; Switches between stacks of its own.
(module
  (type $f (func))
  (type $c (cont $f))
  (func $g)
  (elem declare func $g)
  (func (drop (cont.new $c (ref.func $g)))))
