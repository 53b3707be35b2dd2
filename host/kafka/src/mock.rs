//! A Kafka cluster inside this process, for the demo and the tests: librdkafka's own mock.
//!
//! What it cannot do: create topics by an admin client, keep more than 5 MiB in a partition, transactions, access
//! control. A group forms at once, unlike with the mock's default of three seconds.

use std::ffi::CString;
use std::time::{Duration, Instant};

use crate::log::unheard;
use crate::sys::{Client, ClientKind, Code, List, Mock, OFFSET_INVALID, Producible, code_name};

/// Why the mock cluster did not do something.
#[derive(Debug, thiserror::Error)]
#[error("the mock cluster failed to {what}: {code}")]
pub struct MockError {
    what: &'static str,
    code: String,
}

/// The kinds of request that can be made to fail, by Kafka's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i16)]
pub enum RequestKind {
    /// Writing records.
    Produce = 0,
    /// Reading records.
    Fetch = 1,
    /// Asking for the ends of a log.
    ListOffsets = 2,
    /// Committing.
    OffsetCommit = 8,
    /// Looking up what is committed.
    OffsetFetch = 9,
    /// Joining a classic group.
    JoinGroup = 11,
    /// Keeping a classic membership alive.
    Heartbeat = 12,
}

/// A record to produce.
#[derive(Clone, Copy, Debug, Default)]
pub struct MockRecord<'a> {
    /// To which partition.
    pub partition: i32,
    /// The key; `None` is null.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is null.
    pub value: Option<&'a [u8]>,
    /// The headers in order; names are bytes.
    pub headers: &'a [(&'a [u8], Option<&'a [u8]>)],
    /// Milliseconds since 1970; zero means now.
    pub timestamp_ms: i64,
}

/// What a group has committed for one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The offset.
    pub offset: i64,
    /// The leader epoch that was committed with it.
    pub leader_epoch: Option<i32>,
    /// The metadata that was committed with it.
    pub metadata: Vec<u8>,
}

/// A running mock cluster; ends with this value.
pub struct MockCluster {
    mock: Mock,
}

impl MockCluster {
    /// Starts a cluster.
    ///
    /// # Errors
    ///
    /// librdkafka's words.
    pub fn start(brokers: u32) -> Result<Self, MockError> {
        let failed = |code| MockError { what: "start", code };
        let count = CString::new(brokers.to_string()).unwrap_or_default();
        let properties = [
            (c"test.mock.num.brokers", count.as_c_str()),
            (c"linger.ms", c"5"),
            (c"enable.metrics.push", c"false"),
            (c"message.timeout.ms", c"30000"),
        ];
        let client = Client::new(ClientKind::Unheard, &properties, unheard()).map_err(failed)?;
        let mock = Mock::of(client).ok_or_else(|| failed("it has no cluster".to_owned()))?;
        mock.initial_rebalance_delay(Duration::ZERO);
        mock.consumer_heartbeat_interval(Duration::from_millis(200));
        Ok(Self { mock })
    }

    /// Where its brokers listen.
    #[must_use]
    pub fn bootstrap_servers(&self) -> String {
        self.mock.bootstrap_servers()
    }

    /// Creates a topic.
    ///
    /// # Errors
    ///
    /// It exists already.
    pub fn create_topic(&self, name: &str, partitions: i32) -> Result<(), MockError> {
        self.mock.create_topic(&raw(name), partitions).map_err(failed("create a topic"))
    }

    /// Queues records for producing; [`MockCluster::flush`] waits for them.
    ///
    /// # Errors
    ///
    /// The record is refused, or the queue stays full.
    pub fn produce(&self, topic: &str, record: MockRecord<'_>) -> Result<(), MockError> {
        let topic = raw(topic);
        let MockRecord { partition, key, value, headers, timestamp_ms } = record;
        let producible = Producible { topic: &topic, partition, key, value, timestamp_ms, ticket: 0 };
        let headers = headers.iter().copied();
        match self.mock.produce(&producible, headers.clone()) {
            Err(Code::QueueFull) => {
                self.flush()?;
                self.mock.produce(&producible, headers)
            }
            produced => produced,
        }
        .map_err(failed("produce"))
    }

    /// Waits until every queued record was acknowledged.
    ///
    /// # Errors
    ///
    /// Some were not within 30 seconds.
    pub fn flush(&self) -> Result<(), MockError> {
        self.mock.flush(Duration::from_secs(30)).map_err(failed("flush"))
    }

    /// Makes the next requests of a kind fail with these codes (Kafka's numbers; librdkafka's own are negative).
    pub fn fail_next(&self, kind: RequestKind, codes: &[i32]) {
        let codes: Vec<_> = codes.iter().filter_map(|code| (*code).try_into().ok()).collect();
        self.mock.push_errors(kind as i16, &codes);
    }

    /// Forgets failures that were ordered and have not happened.
    pub fn stop_failing(&self, kind: RequestKind) {
        self.mock.clear_errors(kind as i16);
    }

    /// Stops or starts a broker; they are numbered from one.
    ///
    /// # Errors
    ///
    /// There is no such broker.
    pub fn set_broker_up(&self, broker: i32, up: bool) -> Result<(), MockError> {
        self.mock.set_broker_up(broker, up).map_err(failed("stop or start a broker"))
    }

    /// Makes every answer of a broker take this long.
    ///
    /// # Errors
    ///
    /// There is no such broker.
    pub fn set_round_trip(&self, broker: i32, time: Duration) -> Result<(), MockError> {
        self.mock.set_round_trip(broker, time).map_err(failed("slow a broker down"))
    }

    /// Moves a partition to a broker; `None` leaves it without a leader.
    ///
    /// # Errors
    ///
    /// There is no such partition or broker.
    pub fn set_leader(&self, topic: &str, partition: i32, broker: Option<i32>) -> Result<(), MockError> {
        self.mock.set_leader(&raw(topic), partition, broker).map_err(failed("move a partition"))
    }

    /// What a group has committed, asked by a client that is no member.
    ///
    /// # Errors
    ///
    /// No answer within ten seconds.
    pub fn committed(&self, group: &str, topic: &str, partition: i32) -> Result<Option<CommittedOffset>, MockError> {
        self.with_outsider(group, |client| {
            let topic = raw(topic);
            let mut list = List::of([(topic.as_c_str(), partition, OFFSET_INVALID)]);
            client.committed(&mut list, Duration::from_secs(10)).map_err(failed("look up offsets"))?;
            Ok(list.rows().into_iter().find(|row| row.offset >= 0).map(|row| CommittedOffset {
                offset: row.offset,
                leader_epoch: row.leader_epoch,
                metadata: row.metadata,
            }))
        })
    }

    /// Commits for a group as someone who is no member.
    ///
    /// # Errors
    ///
    /// No acknowledgement within ten seconds.
    pub fn commit(&self, group: &str, topic: &str, partition: i32, offset: i64) -> Result<(), MockError> {
        self.with_outsider(group, |client| {
            let topic = raw(topic);
            let list = List::of([(topic.as_c_str(), partition, offset)]);
            let ends = client.new_queue();
            client.commit(&list, &ends, 1).map_err(failed("commit"))?;
            let deadline = Instant::now() + Duration::from_secs(10);
            while Instant::now() < deadline {
                if let Some(crate::sys::ClientEvent::Committed { result, .. }) = ends.poll(Duration::from_secs(1)) {
                    return result.map_err(failed("commit"));
                }
            }
            Err(failed("commit")(Code::OperationTimedOut))
        })
    }

    fn with_outsider<T>(&self, group: &str, act: impl FnOnce(&Client) -> Result<T, MockError>) -> Result<T, MockError> {
        let (servers, group) = (raw(&self.bootstrap_servers()), raw(group));
        let properties = [
            (c"bootstrap.servers", servers.as_c_str()),
            (c"group.id", group.as_c_str()),
            (c"enable.metrics.push", c"false"),
        ];
        let words = |code| MockError { what: "create a client", code };
        let client = Client::new(ClientKind::Consumer, &properties, unheard()).map_err(words)?;
        act(&client)
    }
}

impl std::fmt::Debug for MockCluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MockCluster").field("bootstrap_servers", &self.bootstrap_servers()).finish()
    }
}

fn raw(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

fn failed(what: &'static str) -> impl Fn(Code) -> MockError {
    move |code| MockError { what, code: code_name(code) }
}
