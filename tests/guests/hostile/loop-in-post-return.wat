;; Answers ok, and loops when the host has read the answer.
(module
  (func (export "post-return") (param i32)
    (loop (br 0))))
