;; A core module under the head of a component: the program that makes the guests writes it in place of its own.
(module
  (memory (export "memory") 1))
