//! The broker's properties: one node, small, quick to answer.
//!
//! It must not know who starts it.

use std::path::Path;

/// Settings that make a broker for tests small and quick: the defaults are meant for clusters, and each of these was
/// seen to make tests wait (first rebalance 3 s, second member of a consumer-protocol group 5 s, and so on). Nothing is deleted for
/// its age where a topic does not say so: tests write records of any time.
const QUICK: &str = "\
process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=2
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.consumer.heartbeat.interval.ms=500
group.consumer.min.heartbeat.interval.ms=100
group.consumer.min.session.timeout.ms=1000
group.consumer.session.timeout.ms=6000
group.consumer.assignment.interval.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
log.cleaner.dedupe.buffer.size=4194304
log.retention.check.interval.ms=1000
log.retention.ms=-1
log.segment.delete.delay.ms=1000
";

/// The number of a broker that was started beside another one.
pub(super) const SECOND: u32 = 2;

/// What is different about a second broker, whose controller is the first.
pub(super) fn second(port: u16, controller_port: u16) -> Vec<(String, String)> {
    let properties = [
        ("process.roles", "broker".to_owned()),
        ("node.id", SECOND.to_string()),
        ("controller.quorum.voters", format!("1@127.0.0.1:{controller_port}")),
        ("listeners", format!("PLAINTEXT://127.0.0.1:{port}")),
    ];
    properties.map(|(key, value)| (key.to_owned(), value)).to_vec()
}

/// The text of a `server.properties` for a data folder and two ports; `extra` comes last and wins.
pub(super) fn server(data: &Path, port: u16, controller_port: u16, extra: &[(String, String)]) -> String {
    let mut text = String::from(QUICK);
    text.push_str(&format!("controller.quorum.voters=1@127.0.0.1:{controller_port}\n"));
    text.push_str(&format!("listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}\n"));
    text.push_str(&format!("advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n"));
    text.push_str(&format!("log.dirs={}\n", data.display()));
    for (key, value) in extra {
        text.push_str(&format!("{key}={value}\n"));
    }
    text
}
