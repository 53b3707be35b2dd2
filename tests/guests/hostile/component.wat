;; What lies around the code of a hostile guest: the types and the export of the contract. README.md says what comes into the braces.
(component
  (import "gristmill:plugin/types@0.1.0" (instance $types
    (type $header' (record (field "key" string) (field "value" (option (list u8)))))
    (export "header" (type $header (eq $header')))
    (type $timestamp' (variant (case "none") (case "create-time" s64) (case "log-append-time" s64)))
    (export "timestamp" (type $timestamp (eq $timestamp')))
    (type $kafka-record' (record
      (field "topic" string) (field "partition" s32) (field "offset" s64) (field "timestamp" $timestamp)
      (field "key" (option (list u8))) (field "value" (option (list u8))) (field "headers" (list $header))))
    (export "kafka-record" (type $kafka-record (eq $kafka-record')))
    (type $batch-info' (record
      (field "pipeline" string) (field "attempt" u32) (field "time-limit-ms" u32) (field "part" bool)
      (field "plugin-digest" string)))
    (export "batch-info" (type $batch-info (eq $batch-info')))
    (type $rejection' (record (field "index" u32) (field "reason" string)))
    (export "rejection" (type $rejection (eq $rejection')))
    (type $output-record' (record
      (field "sink" string) (field "key" (option (list u8))) (field "value" (option (list u8)))
      (field "headers" (list $header)) (field "partition" (option s32)) (field "source" (option u32))))
    (export "output-record" (type $output-record (eq $output-record')))
    (type $effects' (record (field "rejected" (list $rejection)) (field "emitted" (list $output-record))))
    (export "effects" (type $effects (eq $effects')))
    (type $progress' (record (field "records" u32) (field "effects" $effects)))
    (export "progress" (type $progress (eq $progress')))
    (type $retry' (record
      (field "reason" string) (field "after-ms" (option u64)) (field "completed" (option $progress))
      (field "suspect" (option u32))))
    (export "retry" (type $retry (eq $retry')))
    (type $stop' (record (field "reason" string)))
    (export "stop" (type $stop (eq $stop')))
    (type $outcome' (variant (case "ok" $effects) (case "retryable" $retry) (case "fatal" $stop)))
    (export "outcome" (type $outcome (eq $outcome')))))
  (alias export $types "batch-info" (type $batch-info))
  (alias export $types "kafka-record" (type $kafka-record))
  (alias export $types "outcome" (type $outcome))
{around}  {code}
  (core instance $code (instantiate $code{with}))
  (func $process-batch (param "info" $batch-info) (param "records" (list $kafka-record)) (result $outcome)
    (canon lift
      (core func $code "process-batch")
      (memory (core memory $code "memory"))
      (realloc (core func $code "cabi_realloc"))
      (post-return (core func $code "post-return"))))
  (instance $handler (export "process-batch" (func $process-batch)))
  (export "gristmill:plugin/handler@0.1.0" (instance $handler)))
