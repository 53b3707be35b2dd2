;; Throws, and catches by a table of tags.
(module
  (tag $t)
  (func (block (try_table (catch $t 0) (throw $t)))))
