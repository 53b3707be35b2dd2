;; Lists whose length stands in their type: of four billion each, in each other.
(component
  (type $a (list u8 65535))
  (type $b (list $a 65535))
  (instance $none)
  (export "gristmill:plugin/handler@0.1.0" (instance $none)))
