;; The host's functions for guests that ask for `"host"`: put around their code, each lowered with a memory of its own, which the
;; code imports as `"host" "memory"`. What the host gives in lists goes to 131072 every time; the folders themselves to 196608, since
;; their names are lists as well.
(import "wasi:io/poll@0.2.0" (instance $poll
  (export "pollable" (type $own' (sub resource)))
  (export "[method]pollable.block" (func (param "self" (borrow $own'))))
  (export "[method]pollable.ready" (func (param "self" (borrow $own')) (result bool)))
  (export "poll" (func (param "in" (list (borrow $own'))) (result (list u32))))))
(alias export $poll "pollable" (type $pollable))
(import "wasi:io/error@0.2.0" (instance $error (export "error" (type (sub resource)))))
(alias export $error "error" (type $stream-failure))
(import "wasi:io/streams@0.2.0" (instance $streams
  (alias outer 1 $stream-failure (type $failure'))
  (alias outer 1 $pollable (type $pollable'))
  (export "output-stream" (type $output' (sub resource)))
  (export "input-stream" (type $input' (sub resource)))
  (type $error'' (variant (case "last-operation-failed" (own $failure')) (case "closed")))
  (export "stream-error" (type $error' (eq $error'')))
  (export "[method]output-stream.check-write" (func (param "self" (borrow $output')) (result (result u64 (error $error')))))
  (export "[method]output-stream.write"
    (func (param "self" (borrow $output')) (param "contents" (list u8)) (result (result (error $error')))))
  (export "[method]output-stream.write-zeroes"
    (func (param "self" (borrow $output')) (param "len" u64) (result (result (error $error')))))
  (export "[method]output-stream.subscribe" (func (param "self" (borrow $output')) (result (own $pollable'))))
  (export "[method]output-stream.splice"
    (func (param "self" (borrow $output')) (param "src" (borrow $input')) (param "len" u64)
      (result (result u64 (error $error')))))
  (export "[method]input-stream.read"
    (func (param "self" (borrow $input')) (param "len" u64) (result (result (list u8) (error $error')))))
  (export "[method]input-stream.blocking-read"
    (func (param "self" (borrow $input')) (param "len" u64) (result (result (list u8) (error $error')))))))
(alias export $streams "output-stream" (type $output-stream))
(alias export $streams "input-stream" (type $input-stream))
(import "wasi:cli/stdout@0.2.0" (instance $stdout
  (alias outer 1 $output-stream (type $output'))
  (export "get-stdout" (func (result (own $output'))))))
(import "wasi:cli/stdin@0.2.0" (instance $stdin
  (alias outer 1 $input-stream (type $input'))
  (export "get-stdin" (func (result (own $input'))))))
(import "wasi:cli/environment@0.2.0" (instance $environment
  (export "get-environment" (func (result (list (tuple string string)))))))
(import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
  (alias outer 1 $pollable (type $pollable'))
  (export "now" (func (result u64)))
  (export "subscribe-duration" (func (param "when" u64) (result (own $pollable'))))
  (export "subscribe-instant" (func (param "when" u64) (result (own $pollable'))))))
(import "wasi:random/random@0.2.0" (instance $random
  (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))
(import "wasi:random/insecure@0.2.0" (instance $insecure
  (export "get-insecure-random-bytes" (func (param "len" u64) (result (list u8))))))
(import "wasi:sockets/network@0.2.0" (instance $sockets
  (export "network" (type (sub resource)))
  (type $family' (enum "ipv4" "ipv6"))
  (export "ip-address-family" (type (eq $family')))
  (type $code' (enum "unknown" "access-denied" "not-supported" "invalid-argument" "out-of-memory" "timeout"
    "concurrency-conflict" "not-in-progress" "would-block" "invalid-state" "new-socket-limit" "address-not-bindable"
    "address-in-use" "remote-unreachable" "connection-refused" "connection-reset" "connection-aborted" "datagram-too-large"
    "name-unresolvable" "temporary-resolver-failure" "permanent-resolver-failure"))
  (export "error-code" (type (eq $code')))))
(alias export $sockets "network" (type $network))
(alias export $sockets "ip-address-family" (type $family))
(alias export $sockets "error-code" (type $code-of-error))
(import "wasi:sockets/ip-name-lookup@0.2.0" (instance $lookup
  (alias outer 1 $network (type $network'))
  (alias outer 1 $code-of-error (type $code'))
  (export "resolve-address-stream" (type $answers (sub resource)))
  (export "resolve-addresses"
    (func (param "network" (borrow $network')) (param "name" string) (result (result (own $answers) (error $code')))))))
(import "wasi:sockets/instance-network@0.2.0" (instance $instance-network
  (alias outer 1 $network (type $network'))
  (export "instance-network" (func (result (own $network'))))))
(import "wasi:sockets/tcp@0.2.0" (instance $tcp (export "tcp-socket" (type (sub resource)))))
(alias export $tcp "tcp-socket" (type $tcp-socket))
(import "wasi:sockets/tcp-create-socket@0.2.0" (instance $tcp-create
  (alias outer 1 $family (type $family'))
  (alias outer 1 $code-of-error (type $code'))
  (alias outer 1 $tcp-socket (type $socket'))
  (export "create-tcp-socket" (func (param "address-family" $family') (result (result (own $socket') (error $code')))))))
(import "wasi:sockets/udp@0.2.0" (instance $udp (export "udp-socket" (type (sub resource)))))
(alias export $udp "udp-socket" (type $udp-socket))
(import "wasi:sockets/udp-create-socket@0.2.0" (instance $udp-create
  (alias outer 1 $family (type $family'))
  (alias outer 1 $code-of-error (type $code'))
  (alias outer 1 $udp-socket (type $socket'))
  (export "create-udp-socket" (func (param "address-family" $family') (result (result (own $socket') (error $code')))))))
(import "wasi:filesystem/types@0.2.0" (instance $files
  (export "descriptor" (type $file' (sub resource)))
  (export "directory-entry-stream" (type $names' (sub resource)))
  (type $code'' (enum "access" "would-block" "already" "bad-descriptor" "busy" "deadlock" "quota" "exist" "file-too-large"
    "illegal-byte-sequence" "in-progress" "interrupted" "invalid" "io" "is-directory" "loop" "too-many-links" "message-size"
    "name-too-long" "no-device" "no-entry" "no-lock" "insufficient-memory" "insufficient-space" "not-directory" "not-empty"
    "not-recoverable" "unsupported" "no-tty" "no-such-device" "overflow" "not-permitted" "pipe" "read-only" "invalid-seek"
    "text-file-busy" "cross-device"))
  (export "error-code" (type $code' (eq $code'')))
  (type $path-flags'' (flags "symlink-follow"))
  (export "path-flags" (type $path-flags' (eq $path-flags'')))
  (type $open-flags'' (flags "create" "directory" "exclusive" "truncate"))
  (export "open-flags" (type $open-flags' (eq $open-flags'')))
  (type $flags'' (flags "read" "write" "file-integrity-sync" "data-integrity-sync" "requested-write-sync" "mutate-directory"))
  (export "descriptor-flags" (type $flags' (eq $flags'')))
  (export "[method]descriptor.open-at"
    (func (param "self" (borrow $file')) (param "path-flags" $path-flags') (param "path" string) (param "open-flags" $open-flags')
      (param "flags" $flags') (result (result (own $file') (error $code')))))
  (export "[method]descriptor.read-directory" (func (param "self" (borrow $file')) (result (result (own $names') (error $code')))))))
(alias export $files "descriptor" (type $file))
(import "wasi:filesystem/preopens@0.2.0" (instance $preopens
  (alias outer 1 $file (type $file'))
  (export "get-directories" (func (result (list (tuple (own $file') string)))))))
(import "gristmill:plugin/control@0.1.0" (instance $control
  (export "time-left-ms" (func (result u32)))
  (export "cancelled" (func (result bool)))))
(core module $memory'
  (memory (export "memory") 8)
  (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 131072)
  (func (export "realloc-apart") (param i32 i32 i32 i32) (result i32)
    (select (i32.const 131072) (i32.const 196608) (i32.eq (local.get 2) (i32.const 1)))))
(core instance $memory (instantiate $memory'))
(alias core export $memory "memory" (core memory $shared))
(alias core export $memory "realloc" (core func $realloc))
(alias core export $memory "realloc-apart" (core func $realloc-apart))
(core func $block (canon lower (func $poll "[method]pollable.block")))
(core func $ready (canon lower (func $poll "[method]pollable.ready")))
(core func $poll-all (canon lower (func $poll "poll") (memory $shared) (realloc $realloc)))
(core func $drop-pollable (canon resource.drop $pollable))
(core func $check-write (canon lower (func $streams "[method]output-stream.check-write") (memory $shared)))
(core func $write (canon lower (func $streams "[method]output-stream.write") (memory $shared)))
(core func $write-zeroes (canon lower (func $streams "[method]output-stream.write-zeroes") (memory $shared)))
(core func $subscribe (canon lower (func $streams "[method]output-stream.subscribe")))
(core func $splice (canon lower (func $streams "[method]output-stream.splice") (memory $shared)))
(core func $read (canon lower (func $streams "[method]input-stream.read") (memory $shared) (realloc $realloc)))
(core func $blocking-read
  (canon lower (func $streams "[method]input-stream.blocking-read") (memory $shared) (realloc $realloc)))
(core func $get-stdout (canon lower (func $stdout "get-stdout")))
(core func $get-stdin (canon lower (func $stdin "get-stdin")))
(core func $get-environment
  (canon lower (func $environment "get-environment") (memory $shared) (realloc $realloc)))
(core func $now (canon lower (func $clock "now")))
(core func $subscribe-duration (canon lower (func $clock "subscribe-duration")))
(core func $subscribe-instant (canon lower (func $clock "subscribe-instant")))
(core func $random-bytes (canon lower (func $random "get-random-bytes") (memory $shared) (realloc $realloc)))
(core func $insecure-bytes
  (canon lower (func $insecure "get-insecure-random-bytes") (memory $shared) (realloc $realloc)))
(core func $network-of-instance (canon lower (func $instance-network "instance-network")))
(core func $resolve (canon lower (func $lookup "resolve-addresses") (memory $shared)))
(core func $create-tcp (canon lower (func $tcp-create "create-tcp-socket") (memory $shared)))
(core func $create-udp (canon lower (func $udp-create "create-udp-socket") (memory $shared)))
(core func $get-directories
  (canon lower (func $preopens "get-directories") (memory $shared) (realloc $realloc-apart)))
(core func $open-at (canon lower (func $files "[method]descriptor.open-at") (memory $shared)))
(core func $read-directory (canon lower (func $files "[method]descriptor.read-directory") (memory $shared)))
(core func $time-left (canon lower (func $control "time-left-ms")))
(core instance $host
  (export "memory" (memory $shared))
  (export "block" (func $block))
  (export "ready" (func $ready))
  (export "poll" (func $poll-all))
  (export "drop-pollable" (func $drop-pollable))
  (export "check-write" (func $check-write))
  (export "write" (func $write))
  (export "write-zeroes" (func $write-zeroes))
  (export "subscribe" (func $subscribe))
  (export "splice" (func $splice))
  (export "read" (func $read))
  (export "blocking-read" (func $blocking-read))
  (export "get-stdout" (func $get-stdout))
  (export "get-stdin" (func $get-stdin))
  (export "get-environment" (func $get-environment))
  (export "now" (func $now))
  (export "subscribe-duration" (func $subscribe-duration))
  (export "subscribe-instant" (func $subscribe-instant))
  (export "random-bytes" (func $random-bytes))
  (export "insecure-bytes" (func $insecure-bytes))
  (export "instance-network" (func $network-of-instance))
  (export "resolve-addresses" (func $resolve))
  (export "create-tcp-socket" (func $create-tcp))
  (export "create-udp-socket" (func $create-udp))
  (export "get-directories" (func $get-directories))
  (export "open-at" (func $open-at))
  (export "read-directory" (func $read-directory))
  (export "time-left-ms" (func $time-left)))
