;; A hundred instances of a module that holds nothing.
(component $inner
  (core module $none)
  (core instance (instantiate $none)) (core instance (instantiate $none))
  (core instance (instantiate $none)) (core instance (instantiate $none))
  (core instance (instantiate $none)) (core instance (instantiate $none))
  (core instance (instantiate $none)) (core instance (instantiate $none))
  (core instance (instantiate $none)) (core instance (instantiate $none)))
(instance (instantiate $inner)) (instance (instantiate $inner))
(instance (instantiate $inner)) (instance (instantiate $inner))
(instance (instantiate $inner)) (instance (instantiate $inner))
(instance (instantiate $inner)) (instance (instantiate $inner))
(instance (instantiate $inner)) (instance (instantiate $inner))
(module)
