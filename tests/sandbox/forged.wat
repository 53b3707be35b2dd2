;; A component that fits the contract and whose answers are bytes put together by hand. The test puts its own into the braces:
;; the address of the answer, what lies in memory from 1024 on, and what cabi_realloc and post-return do before they return.
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
  (core module $code
    (memory (export "memory") 2)
    (global $next (mut i32) (i32.const 65536))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
      {allocate}
      ;; Everything in turn, each aligned to eight bytes. Nothing is grown, and a test's batch is small.
      global.get $next
      global.get $next
      local.get 3
      i32.add
      i32.const 7
      i32.add
      i32.const -8
      i32.and
      global.set $next)
    (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
      i32.const {answer})
    (func (export "post-return") (param i32)
      {free})
    (data (i32.const 1024) "{data}"))
  (core instance $code (instantiate $code))
  (func $process-batch (param "info" $batch-info) (param "records" (list $kafka-record)) (result $outcome)
    (canon lift
      (core func $code "process-batch")
      (memory (core memory $code "memory"))
      (realloc (core func $code "cabi_realloc"))
      (post-return (core func $code "post-return"))))
  (instance $handler (export "process-batch" (func $process-batch)))
  (export "gristmill:plugin/handler@0.1.0" (instance $handler)))
