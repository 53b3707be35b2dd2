;; Three memories of 24 MiB beside its own small one, each by itself within the limit for all.
(core module $large (memory 384))
(core instance (instantiate $large))
(core instance (instantiate $large))
(core instance (instantiate $large))
(module)
