//! A client handle.
//!
//! Each call is one call of librdkafka with its waits bounded by the caller; when to call what is not decided here.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rdkafka_sys as rd;

use super::{Code, List, Queue, check, millis, take_error, text};

/// What a client is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientKind {
    /// A member of a consumer group.
    Consumer,
    /// A producer that hears of every delivery, on its queue.
    Producer,
    /// A producer whose deliveries nobody hears of, so that flushing it waits for them.
    Unheard,
}

/// How assignments change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Not a member yet.
    None,
    /// The whole assignment at once.
    Eager,
    /// In steps.
    Cooperative,
}

/// Finds out whether librdkafka takes this value for this property. Creates no client.
///
/// # Errors
///
/// Its words.
pub(crate) fn check_value(name: &CStr, value: &CStr) -> Result<(), String> {
    let mut words = [0; 512];
    // SAFETY: the configuration is ours and freed; name and value are zero-terminated; the buffer's length is told.
    unsafe {
        let conf = rd::rd_kafka_conf_new();
        let set = rd::rd_kafka_conf_set(conf, name.as_ptr(), value.as_ptr(), words.as_mut_ptr(), words.len());
        rd::rd_kafka_conf_destroy(conf);
        if set == rd::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK { Ok(()) } else { Err(text(words.as_ptr())) }
    }
}

/// Which end of a partition's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watermark {
    /// The first offset.
    Low,
    /// The end; under `read_committed` the end of what is committed.
    High,
}

/// Hears each log line of a client at once: severity as syslog counts, short name of the place, text. It is called on
/// threads of the client, which may hold locks of theirs: it must not call the client, wait, or panic.
pub(crate) type LogSink = Box<dyn Fn(c_int, &CStr, &CStr) + Send + Sync>;

/// The handle. Destroyed with its last owner, in the way that `abandoned` says.
struct Handle {
    raw: NonNull<rd::rd_kafka_t>,
    abandoned: AtomicBool,
    /// Boxed again, so that a thin pointer names it. Outlives the client, which calls it until it is destroyed.
    _log: Box<LogSink>,
}

// SAFETY: librdkafka's handles may be used from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above; librdkafka locks inside.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        let flags = if self.abandoned.load(Ordering::Acquire) { rd::RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE } else { 0 };
        // SAFETY: the last owner: no thread is inside a call, no queue and no record is left.
        unsafe { rd::rd_kafka_destroy_flags(self.raw.as_ptr(), flags) }
    }
}

/// A client.
#[derive(Clone)]
pub(crate) struct Client(Arc<Handle>);

impl Client {
    /// Creates a client.
    ///
    /// # Errors
    ///
    /// librdkafka's words about the property or the combination that it does not accept.
    pub(crate) fn new(kind: ClientKind, properties: &[(&CStr, &CStr)], log: LogSink) -> Result<Self, String> {
        let mut words = [0; 512];
        let log = Box::new(log);
        // SAFETY: the configuration is ours until `rd_kafka_new` succeeds; names and values are zero-terminated; the
        // buffer's length is told. The opaque pointer is the sink's, which lives as long as the client and is not moved.
        unsafe {
            let conf = rd::rd_kafka_conf_new();
            rd::rd_kafka_conf_set_opaque(conf, std::ptr::from_ref::<LogSink>(&log).cast_mut().cast());
            rd::rd_kafka_conf_set_log_cb(conf, Some(pass_log));
            for (name, value) in properties {
                let set = rd::rd_kafka_conf_set(conf, name.as_ptr(), value.as_ptr(), words.as_mut_ptr(), words.len());
                if set != rd::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK {
                    rd::rd_kafka_conf_destroy(conf);
                    return Err(text(words.as_ptr()));
                }
            }
            let role = match kind {
                ClientKind::Consumer => rd::rd_kafka_type_t::RD_KAFKA_CONSUMER,
                ClientKind::Producer | ClientKind::Unheard => rd::rd_kafka_type_t::RD_KAFKA_PRODUCER,
            };
            rd::rd_kafka_conf_set_events(
                conf,
                if kind == ClientKind::Producer { rd::RD_KAFKA_EVENT_DR } else { 0 }
                    | rd::RD_KAFKA_EVENT_REBALANCE
                    | rd::RD_KAFKA_EVENT_OFFSET_COMMIT
                    | rd::RD_KAFKA_EVENT_STATS
                    | rd::RD_KAFKA_EVENT_ERROR,
            );
            // Without a queue of their own, requests for a new OAUTHBEARER token would come out of ours as events.
            rd::rd_kafka_conf_enable_sasl_queue(conf, 1);
            let Some(raw) = NonNull::new(rd::rd_kafka_new(role, conf, words.as_mut_ptr(), words.len())) else {
                rd::rd_kafka_conf_destroy(conf);
                return Err(text(words.as_ptr()));
            };
            // Fails when no mechanism asks for tokens; then there is nothing to serve.
            let _ = take_error(rd::rd_kafka_sasl_background_callbacks_enable(raw.as_ptr()));
            if kind == ClientKind::Consumer {
                rd::rd_kafka_poll_set_consumer(raw.as_ptr());
            }
            Ok(Self(Arc::new(Handle { raw, abandoned: AtomicBool::new(false), _log: log })))
        }
    }

    /// The raw handle, for calls in the other files of this module.
    pub(super) fn raw(&self) -> *mut rd::rd_kafka_t {
        self.0.raw.as_ptr()
    }

    /// Destroy this client without leaving the group and without waiting for it, when its last owner lets go.
    pub(crate) fn abandon(&self) {
        self.0.abandoned.store(true, Ordering::Release);
    }

    /// The queue that the client reports on. `None` when the client is no consumer or has no group.
    pub(crate) fn events(&self) -> Option<Queue> {
        // SAFETY: gives a new reference to the queue, or null.
        NonNull::new(unsafe { rd::rd_kafka_queue_get_consumer(self.raw()) }).map(|raw| Queue::of(raw, self.clone()))
    }

    /// A new queue of our own.
    pub(crate) fn new_queue(&self) -> Queue {
        // SAFETY: allocates; never null, since librdkafka aborts when memory is out.
        let raw = unsafe { NonNull::new_unchecked(rd::rd_kafka_queue_new(self.raw())) };
        Queue::of(raw, self.clone())
    }

    /// Joins the group for these topics.
    pub(crate) fn subscribe(&self, topics: &List) -> Result<(), Code> {
        // SAFETY: the list is borrowed for the call and copied.
        check(unsafe { rd::rd_kafka_subscribe(self.raw(), topics.as_ptr()) })
    }

    /// Gives the subscription up; the assignment is revoked.
    pub(crate) fn unsubscribe(&self) -> Result<(), Code> {
        // SAFETY: no argument but the handle.
        check(unsafe { rd::rd_kafka_unsubscribe(self.raw()) })
    }

    /// Sends the records of a partition to a queue of ours. False when there is no such partition.
    pub(crate) fn forward(&self, topic: &CStr, partition: i32, target: &Queue) -> bool {
        self.forward_to(topic, partition, target.raw())
    }

    /// Keeps the records of a partition in a queue of its own, which nobody reads. What was sent on before stays where it is. False
    /// when there is no such partition.
    pub(crate) fn withhold(&self, topic: &CStr, partition: i32) -> bool {
        self.forward_to(topic, partition, null_mut())
    }

    fn forward_to(&self, topic: &CStr, partition: i32, target: *mut rd::rd_kafka_queue_t) -> bool {
        // SAFETY: the partition's queue is a reference of our own, given back after the call; the target is alive, or null for none.
        unsafe {
            let source = rd::rd_kafka_queue_get_partition(self.raw(), topic.as_ptr(), partition);
            if source.is_null() {
                return false;
            }
            rd::rd_kafka_queue_forward(source, target);
            rd::rd_kafka_queue_destroy(source);
            true
        }
    }

    /// How this group's assignments change.
    pub(crate) fn protocol(&self) -> Protocol {
        // SAFETY: gives a static string or null.
        match unsafe { text(rd::rd_kafka_rebalance_protocol(self.raw())) }.as_str() {
            "EAGER" => Protocol::Eager,
            "COOPERATIVE" => Protocol::Cooperative,
            _ => Protocol::None,
        }
    }

    /// True when the current assignment was lost, so that nothing may be committed for it.
    pub(crate) fn assignment_lost(&self) -> bool {
        // SAFETY: no argument but the handle.
        unsafe { rd::rd_kafka_assignment_lost(self.raw()) != 0 }
    }

    /// Replaces the whole assignment; `None` gives it up.
    pub(crate) fn assign(&self, list: Option<&List>) -> Result<(), Code> {
        // SAFETY: the list is borrowed for the call and copied; null is allowed.
        check(unsafe {
            rd::rd_kafka_assign(self.raw(), list.map_or(std::ptr::null(), |list| list.as_ptr().cast_const()))
        })
    }

    /// Adds partitions to the assignment.
    pub(crate) fn assign_more(&self, list: &List) -> Result<(), (Code, String)> {
        // SAFETY: the list is borrowed for the call and copied; the error is ours.
        unsafe { take_error(rd::rd_kafka_incremental_assign(self.raw(), list.as_ptr())) }
    }

    /// Takes partitions from the assignment.
    pub(crate) fn unassign(&self, list: &List) -> Result<(), (Code, String)> {
        // SAFETY: the list is borrowed for the call and copied; the error is ours.
        unsafe { take_error(rd::rd_kafka_incremental_unassign(self.raw(), list.as_ptr())) }
    }

    /// Stops fetching partitions and throws away what was fetched ahead.
    pub(crate) fn pause(&self, list: &List) -> Result<(), Code> {
        // SAFETY: the list is borrowed for the call.
        check(unsafe { rd::rd_kafka_pause_partitions(self.raw(), list.as_ptr()) })
    }

    /// Fetches paused partitions again.
    pub(crate) fn resume(&self, list: &List) -> Result<(), Code> {
        // SAFETY: the list is borrowed for the call.
        check(unsafe { rd::rd_kafka_resume_partitions(self.raw(), list.as_ptr()) })
    }

    /// Seeks; each entry of the list has its own result, also after an error of the whole call.
    pub(crate) fn seek(&self, list: &mut List, wait: Duration) -> Result<(), (Code, String)> {
        // SAFETY: the list is ours alone during the call; the error is ours.
        unsafe { take_error(rd::rd_kafka_seek_partitions(self.raw(), list.as_ptr(), millis(wait))) }
    }

    /// Fills the list with the positions behind what was taken from the private queue. Asks no broker.
    pub(crate) fn positions(&self, list: &mut List) -> Result<(), Code> {
        // SAFETY: the list is ours alone during the call.
        check(unsafe { rd::rd_kafka_position(self.raw(), list.as_ptr()) })
    }

    /// Looks up what the group has committed; fills the list's offsets, leader epochs, metadata and errors.
    pub(crate) fn committed(&self, list: &mut List, wait: Duration) -> Result<(), Code> {
        // SAFETY: the list is ours alone during the call.
        check(unsafe { rd::rd_kafka_committed(self.raw(), list.as_ptr(), millis(wait)) })
    }

    /// Asks the brokers for one end of one partition's log.
    pub(crate) fn watermarks(&self, topic: &CStr, partition: i32, wait: Duration) -> Result<(i64, i64), Code> {
        let (mut low, mut high) = (-1, -1);
        // SAFETY: the name is zero-terminated and the results are ours.
        let asked = unsafe {
            rd::rd_kafka_query_watermark_offsets(
                self.raw(),
                topic.as_ptr(),
                partition,
                &raw mut low,
                &raw mut high,
                millis(wait),
            )
        };
        check(asked).map(|()| (low, high))
    }

    /// Asks the brokers for one end of many partitions' logs: one request for each broker that leads some of them.
    pub(crate) fn watermark_of_all(&self, list: &mut List, end: Watermark, wait: Duration) -> Result<(), Code> {
        list.set_all_offsets(match end {
            Watermark::Low => super::OFFSET_BEGINNING,
            Watermark::High => super::OFFSET_END,
        });
        // SAFETY: the list is ours alone during the call. A negative "time" asks for an end of the log.
        check(unsafe { rd::rd_kafka_offsets_for_times(self.raw(), list.as_ptr(), millis(wait)) })
    }

    /// Sends a commit; its end comes out of `replies` with the ticket.
    pub(crate) fn commit(&self, list: &List, replies: &Queue, ticket: usize) -> Result<(), Code> {
        let opaque = std::ptr::without_provenance_mut(ticket);
        // SAFETY: the list is borrowed for the call and copied; the ticket is a number that nobody follows.
        check(unsafe { rd::rd_kafka_commit_queue(self.raw(), list.as_ptr(), replies.raw(), None, opaque) })
    }

    /// The error after which this client never works again.
    pub(crate) fn fatal_error(&self) -> Option<(Code, String)> {
        let mut words = [0; 512];
        // SAFETY: the buffer's length is told.
        unsafe {
            let code = rd::rd_kafka_fatal_error(self.raw(), words.as_mut_ptr(), words.len());
            check(code).err().map(|code| (code, text(words.as_ptr())))
        }
    }

    /// Begins to leave the group. The steps come out of `events` and want answers until [`Client::closed`].
    pub(crate) fn begin_close(&self, events: &Queue) -> Result<(), (Code, String)> {
        // SAFETY: the queue belongs to this client; the error is ours.
        unsafe { take_error(rd::rd_kafka_consumer_close_queue(self.raw(), events.raw())) }
    }

    /// True when the group was left.
    pub(crate) fn closed(&self) -> bool {
        // SAFETY: no argument but the handle.
        unsafe { rd::rd_kafka_consumer_closed(self.raw()) == 1 }
    }

    /// True when a broker has described its cluster, which is waited for.
    pub(crate) fn knows_cluster(&self, wait: Duration) -> bool {
        // SAFETY: gives null or a string in memory of librdkafka's, which is given back.
        unsafe {
            let id = rd::rd_kafka_clusterid(self.raw(), millis(wait));
            let knows = !id.is_null();
            if knows {
                rd::rd_kafka_mem_free(self.raw(), id.cast());
            }
            knows
        }
    }

    /// Asks the brokers how many partitions a topic has. The outer error is about reaching them, the inner one about the
    /// topic, which is never created by the question.
    pub(crate) fn count_partitions(&self, topic: &CStr, wait: Duration) -> Result<Result<usize, Code>, Code> {
        let mut metadata: *const rd::rd_kafka_metadata = std::ptr::null();
        // SAFETY: the topic handle is ours and given back; the metadata is read while it is there, then freed. Its
        // arrays are as long as their counts say.
        unsafe {
            let handle = rd::rd_kafka_topic_new(self.raw(), topic.as_ptr(), null_mut());
            if handle.is_null() {
                return Err(rd::rd_kafka_last_error().into());
            }
            let asked = check(rd::rd_kafka_metadata(self.raw(), 0, handle, &raw mut metadata, millis(wait)));
            rd::rd_kafka_topic_destroy(handle);
            asked?;
            let count = usize::try_from((*metadata).topic_cnt).unwrap_or(0);
            let topics = if count == 0 { &[] } else { std::slice::from_raw_parts((*metadata).topics, count) };
            let partitions = topics
                .iter()
                .find(|found| CStr::from_ptr(found.topic) == topic)
                .map_or(Err(Code::UnknownTopicOrPartition), |found| {
                    check(found.err).map(|()| usize::try_from(found.partition_cnt).unwrap_or(0))
                });
            rd::rd_kafka_metadata_destroy(metadata);
            Ok(partitions)
        }
    }
}

/// Passes a log line on to the sink.
///
/// # Safety
///
/// Called by librdkafka only: the client is null or one that [`Client::new`] made, the strings are zero-terminated.
unsafe extern "C" fn pass_log(
    client: *const rd::rd_kafka_t,
    level: c_int,
    facility: *const c_char,
    line: *const c_char,
) {
    if client.is_null() || facility.is_null() || line.is_null() {
        return;
    }
    // SAFETY: the client's opaque pointer names its sink, which is dropped after the client only.
    unsafe {
        let sink = rd::rd_kafka_opaque(client).cast::<LogSink>();
        if let Some(sink) = sink.as_ref() {
            sink(level, CStr::from_ptr(facility), CStr::from_ptr(line));
        }
    }
}
