//! librdkafka's in-process mock cluster, and the producer that it lives in.
//!
//! For the demo and the tests; nothing of a run against real brokers comes through here.

use std::ffi::CStr;
use std::time::Duration;

use rdkafka_sys as rd;

use super::{Client, Code, Producible, ProducibleHeader, check, millis, text};

/// A mock cluster that lives inside a client which was created with `test.mock.num.brokers`.
pub(crate) struct Mock {
    client: Client,
    raw: *mut rd::rd_kafka_mock_cluster_t,
}

// SAFETY: the mock cluster hands every call to its own thread.
unsafe impl Send for Mock {}
// SAFETY: as above.
unsafe impl Sync for Mock {}

impl Mock {
    /// The mock cluster of a client, if it has one.
    pub(crate) fn of(client: Client) -> Option<Self> {
        // SAFETY: gives the cluster that the client owns, or null. It lives as long as the client, which is kept.
        let raw = unsafe { rd::rd_kafka_handle_mock_cluster(client.raw()) };
        (!raw.is_null()).then_some(Self { client, raw })
    }

    /// Where its brokers listen.
    pub(crate) fn bootstrap_servers(&self) -> String {
        // SAFETY: a string that lives as long as the cluster.
        unsafe { text(rd::rd_kafka_mock_cluster_bootstraps(self.raw)) }
    }

    /// How long a new classic group waits for more members.
    pub(crate) fn initial_rebalance_delay(&self, wait: Duration) {
        // SAFETY: the cluster is valid.
        unsafe { rd::rd_kafka_mock_group_initial_rebalance_delay_ms(self.raw, millis(wait)) }
    }

    /// How often members of a group with `group.protocol=consumer` say that they live, and learn of changes.
    pub(crate) fn consumer_heartbeat_interval(&self, interval: Duration) {
        // SAFETY: the cluster is valid.
        unsafe { rd::rd_kafka_mock_set_group_consumer_heartbeat_interval_ms(self.raw, millis(interval)) }
    }

    /// Creates a topic.
    pub(crate) fn create_topic(&self, name: &CStr, partitions: i32) -> Result<(), Code> {
        // SAFETY: the name is copied.
        check(unsafe { rd::rd_kafka_mock_topic_create(self.raw, name.as_ptr(), partitions, 1) })
    }

    /// Makes the next requests of one kind fail, one after the other.
    pub(crate) fn push_errors(&self, api_key: i16, errors: &[rd::rd_kafka_resp_err_t]) {
        // SAFETY: as many errors as the count says; they are copied.
        unsafe { rd::rd_kafka_mock_push_request_errors_array(self.raw, api_key, errors.len(), errors.as_ptr()) }
    }

    /// Forgets the errors that were pushed and have not happened.
    pub(crate) fn clear_errors(&self, api_key: i16) {
        // SAFETY: the cluster is valid.
        unsafe { rd::rd_kafka_mock_clear_request_errors(self.raw, api_key) }
    }

    /// Stops or starts a broker.
    pub(crate) fn set_broker_up(&self, broker: i32, up: bool) -> Result<(), Code> {
        // SAFETY: the cluster is valid.
        check(unsafe {
            if up {
                rd::rd_kafka_mock_broker_set_up(self.raw, broker)
            } else {
                rd::rd_kafka_mock_broker_set_down(self.raw, broker)
            }
        })
    }

    /// Makes every answer of a broker take this long.
    pub(crate) fn set_round_trip(&self, broker: i32, time: Duration) -> Result<(), Code> {
        // SAFETY: the cluster is valid.
        check(unsafe { rd::rd_kafka_mock_broker_set_rtt(self.raw, broker, millis(time)) })
    }

    /// Moves a partition to a broker; `None` leaves it without a leader.
    pub(crate) fn set_leader(&self, topic: &CStr, partition: i32, broker: Option<i32>) -> Result<(), Code> {
        let leader = broker.unwrap_or(-1);
        // SAFETY: the name is copied.
        check(unsafe { rd::rd_kafka_mock_partition_set_leader(self.raw, topic.as_ptr(), partition, leader) })
    }

    /// Queues a record for producing. `Err(QueueFull)`: flush and try again.
    pub(crate) fn produce<'a>(
        &self,
        record: &Producible<'a>,
        headers: impl IntoIterator<Item = ProducibleHeader<'a>>,
    ) -> Result<(), Code> {
        self.client.produce(record, headers)
    }

    /// Waits until everything queued was acknowledged.
    pub(crate) fn flush(&self, wait: Duration) -> Result<(), Code> {
        // SAFETY: no argument but the handle.
        check(unsafe { rd::rd_kafka_flush(self.client.raw(), millis(wait)) })
    }
}
