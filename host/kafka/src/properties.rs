//! Which client properties an operator may set, which are ours, which are refused, and what we set by default.
//!
//! Names are those of librdkafka 2.12.1's CONFIGURATION.md. Whether a value is legal is librdkafka's to say.

/// What may be done with a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The operator may set it.
    Accepted,
    /// We set it, for this reason.
    Owned(&'static str),
    /// Nobody sets it, for this reason.
    Refused(&'static str),
    /// No consumer has it.
    Unknown {
        /// True: producers have it.
        for_producers: bool,
    },
}

/// What we set unless the operator says otherwise.
pub const DEFAULTS: &[(&str, &str)] = &[
    // Off in librdkafka; without it a flipped bit on disk reaches the plugin as data (measured: 2 to 5 % of CPU).
    ("check.crcs", "true"),
    // The default of 1000 stalls a drained queue for up to a second (measured: 12.7 s instead of 2.6 s).
    ("fetch.queue.backoff.ms", "20"),
    // Half the memory of the default at the same speed (measured).
    ("queued.min.messages", "20000"),
    // librdkafka's 50 MiB come as one piece of memory, whose records are read when the processor has forgotten them (measured: with 48
    // partitions a fifth of all processor time and two thirds of the memory, with 6 a tenth at 1 KB, nothing to speak of at 100 bytes).
    ("fetch.max.bytes", "2097152"),
    ("client.id", "gristmill"),
    ("statistics.interval.ms", "5000"),
    // A rewind by seek waits for the long poll in flight to return.
    ("fetch.wait.max.ms", "100"),
];

/// The same where each partition has a share of the buffer: then each may be withheld, and have as much in a queue of its own.
pub const LANE_DEFAULTS: &[(&str, &str)] = &[("queued.max.messages.kbytes", "8192")];

/// What we set and the operator cannot.
pub(crate) const OWNED_VALUES: &[(&str, &str)] = &[
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    ("enable.partition.eof", "false"),
    ("auto.offset.reset", "error"),
    ("enable.metrics.push", "false"),
    ("allow.auto.create.topics", "false"),
];

/// What the host decides, each with the reason.
pub const OWNED: &[(&str, &str)] = &[
    ("enable.auto.commit", "offsets are committed only for batches that the plugin finished"),
    ("auto.commit.enable", "offsets are committed only for batches that the plugin finished"),
    ("auto.commit.interval.ms", "offsets are committed only for batches that the plugin finished"),
    ("enable.auto.offset.store", "the host builds each committed offset itself"),
    ("offset.store.method", "offsets live with the group, at the brokers"),
    ("offset.store.path", "offsets live with the group, at the brokers"),
    ("offset.store.sync.interval.ms", "offsets live with the group, at the brokers"),
    ("enable.partition.eof", "the end of a partition is no record"),
    ("auto.offset.reset", "a jump must never be silent; set kafka.auto_offset_reset"),
    ("bootstrap.servers", "set kafka.bootstrap_servers"),
    ("metadata.broker.list", "set kafka.bootstrap_servers"),
    ("group.id", "set kafka.group_id"),
    ("enable.metrics.push", "the host sends no telemetry"),
    ("allow.auto.create.topics", "reading must not create a topic whose name was mistyped"),
    ("log.queue", "log lines come with the host's own"),
    ("consume.callback.max.messages", "records are taken in batches"),
    ("background_event_cb", "it is a function of the host"),
    ("closesocket_cb", "it is a function of the host"),
    ("connect_cb", "it is a function of the host"),
    ("consume_cb", "it is a function of the host"),
    ("enabled_events", "it is a function of the host"),
    ("error_cb", "it is a function of the host"),
    ("log_cb", "it is a function of the host"),
    ("oauthbearer_token_refresh_cb", "it is a function of the host"),
    ("offset_commit_cb", "it is a function of the host"),
    ("open_cb", "it is a function of the host"),
    ("opaque", "it is a function of the host"),
    ("rebalance_cb", "it is a function of the host"),
    ("resolve_cb", "it is a function of the host"),
    ("socket_cb", "it is a function of the host"),
    ("stats_cb", "it is a function of the host"),
    ("throttle_cb", "it is a function of the host"),
    ("default_topic_conf", "it is a function of the host"),
    ("interceptors", "it is a function of the host"),
    ("ssl.certificate.verify_cb", "it is a function of the host"),
    ("ssl_engine_callback_data", "it is a function of the host"),
    ("ssl_ca", "it is set by ssl.ca.pem or ssl.ca.location"),
    ("ssl_certificate", "it is set by ssl.certificate.pem or ssl.certificate.location"),
    ("ssl_key", "it is set by ssl.key.pem or ssl.key.location"),
    ("builtin.features", "it says what the client was built with"),
];

/// What nobody sets, each with the reason.
pub const REFUSED: &[(&str, &str)] = &[
    ("plugin.library.paths", "it would load native code into the host"),
    ("sasl.kerberos.kinit.cmd", "it would run a command of its own"),
    ("ssl.engine.location", "it would load native code into the host"),
    ("ssl.engine.id", "it would load native code into the host"),
    ("ssl.providers", "it would load native code into the host"),
    ("internal.termination.signal", "signals belong to the host"),
    ("enable.random.seed", "it reseeds the C library's generator"),
];

/// Names that mean the same; the second is the one that is used.
const ALIASES: &[(&str, &str)] = &[
    ("sasl.mechanisms", "sasl.mechanism"),
    ("max.in.flight.requests.per.connection", "max.in.flight"),
    ("fetch.message.max.bytes", "max.partition.fetch.bytes"),
];

/// Every property that an operator may set, for suggestions when a name is mistyped.
pub const ACCEPTED: &[&str] = &[
    "api.version.fallback.ms",
    "api.version.request",
    "api.version.request.timeout.ms",
    "broker.address.family",
    "broker.address.ttl",
    "broker.version.fallback",
    "check.crcs",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "connections.max.idle.ms",
    "coordinator.query.interval.ms",
    "debug",
    "enable.sasl.oauthbearer.unsecure.jwt",
    "enable.ssl.certificate.verification",
    "fetch.error.backoff.ms",
    "fetch.max.bytes",
    "fetch.min.bytes",
    "fetch.queue.backoff.ms",
    "fetch.wait.max.ms",
    "group.instance.id",
    "group.protocol",
    "group.protocol.type",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "https.ca.location",
    "https.ca.pem",
    "isolation.level",
    "log.connection.close",
    "log.thread.name",
    "log_level",
    "max.in.flight",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "message.copy.max.bytes",
    "message.max.bytes",
    "metadata.max.age.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "partition.assignment.strategy",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "receive.message.max.bytes",
    "reconnect.backoff.jitter.ms",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "sasl.kerberos.keytab",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.principal",
    "sasl.kerberos.service.name",
    "sasl.mechanism",
    "sasl.oauthbearer.assertion.algorithm",
    "sasl.oauthbearer.assertion.claim.aud",
    "sasl.oauthbearer.assertion.claim.exp.seconds",
    "sasl.oauthbearer.assertion.claim.iss",
    "sasl.oauthbearer.assertion.claim.jti.include",
    "sasl.oauthbearer.assertion.claim.nbf.seconds",
    "sasl.oauthbearer.assertion.claim.sub",
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.jwt.template.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.private.key.pem",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.extensions",
    "sasl.oauthbearer.grant.type",
    "sasl.oauthbearer.metadata.authentication.type",
    "sasl.oauthbearer.method",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "session.timeout.ms",
    "socket.blocking.max.ms",
    "socket.connection.setup.timeout.ms",
    "socket.keepalive.enable",
    "socket.max.fails",
    "socket.nagle.disable",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "socket.timeout.ms",
    "ssl.ca.certificate.stores",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.cipher.suites",
    "ssl.crl.location",
    "ssl.curves.list",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.sigalgs.list",
    "statistics.interval.ms",
    "topic.blacklist",
    "topic.metadata.propagation.max.ms",
    "topic.metadata.refresh.fast.cnt",
    "topic.metadata.refresh.fast.interval.ms",
    "topic.metadata.refresh.interval.ms",
    "topic.metadata.refresh.sparse",
];

const PRODUCER_ONLY: &[&str] = &[
    "acks",
    "batch.num.messages",
    "batch.size",
    "compression.codec",
    "compression.level",
    "compression.type",
    "delivery.report.only.error",
    "delivery.timeout.ms",
    "enable.gapless.guarantee",
    "enable.idempotence",
    "linger.ms",
    "message.send.max.retries",
    "message.timeout.ms",
    "partitioner",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "queue.buffering.max.ms",
    "request.required.acks",
    "request.timeout.ms",
    "retries",
    "sticky.partitioning.linger.ms",
    "transaction.timeout.ms",
    "transactional.id",
];

/// The name that is used for a property that has several.
pub(crate) fn canonical(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, used)| used)
}

/// True when two names mean the same property.
pub(crate) fn same(one: &str, other: &str) -> bool {
    canonical(one) == canonical(other)
}

/// What an operator may do with a property.
#[must_use]
pub fn standing(name: &str) -> Standing {
    let reason = |list: &[(&str, &'static str)]| list.iter().find(|(known, _)| *known == name).map(|(_, why)| *why);
    let name_used = canonical(name);
    if let Some(reason) = reason(OWNED) {
        Standing::Owned(reason)
    } else if let Some(reason) = reason(REFUSED) {
        Standing::Refused(reason)
    } else if name.starts_with("test.mock.") {
        Standing::Refused("it replaces the brokers by a mock; use gristmill demo")
    } else if ACCEPTED.binary_search(&name_used).is_ok() {
        Standing::Accepted
    } else {
        Standing::Unknown { for_producers: PRODUCER_ONLY.contains(&name_used) }
    }
}

/// True for properties whose value nobody may read.
#[must_use]
pub fn is_secret(name: &str) -> bool {
    ["password", "secret", "passphrase", "key.pem", "oauthbearer.config"].iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accepted_names_are_in_the_order_that_the_search_needs() {
        assert!(ACCEPTED.is_sorted());
    }

    #[test]
    fn no_name_is_on_two_lists() {
        for name in ACCEPTED {
            assert_eq!(standing(name), Standing::Accepted, "{name}");
        }
        for (name, reason) in OWNED {
            assert_eq!(standing(name), Standing::Owned(reason), "{name}");
        }
        for (name, reason) in REFUSED {
            assert_eq!(standing(name), Standing::Refused(reason), "{name}");
        }
        for name in PRODUCER_ONLY {
            assert_eq!(standing(name), Standing::Unknown { for_producers: true }, "{name}");
        }
    }

    #[test]
    fn what_is_set_for_the_operator_is_owned_or_accepted() {
        assert!(OWNED_VALUES.iter().all(|(name, _)| matches!(standing(name), Standing::Owned(_))));
        assert!(DEFAULTS.iter().all(|(name, _)| standing(name) == Standing::Accepted));
    }
}
