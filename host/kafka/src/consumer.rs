//! The handle of one consumer: starts its threads, passes requests on, and leaves the group.
//!
//! Nothing here waits for a broker: requests go to the thread that does them and are answered by an
//! [`Event`], in one channel with everything else.

use std::ffi::CStr;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use gristmill_core::io::{CommitOffset, Input, RequestError, RequestId, RevokeId, SeekTo};
use gristmill_core::record::{Partition, Topic};
use tokio::sync::mpsc::UnboundedSender;

use crate::close::{self, CloseBy, Threads};
use crate::command::{self, CommitOrder};
use crate::error::StartError;
use crate::event::Event;
use crate::log::{self, LogLine};
use crate::lookup::{self, LookupOrder};
use crate::parking::Work;
use crate::settings::{ClientProperties, ConsumerSettings};
use crate::shared::Shared;
use crate::subscription::is_pattern;
use crate::sys::{Client, ClientKind, List, LogSink, code_name};
use crate::topics::Topics;
use crate::{events, fetch};

/// How long a consumer that is dropped without leaving tries to leave.
const DROP_WAIT: Duration = Duration::from_secs(5);

/// A member of a consumer group.
pub struct Consumer {
    shared: Weak<Shared>,
    threads: Mutex<Option<Threads>>,
    topics: Arc<Topics>,
    outbox: UnboundedSender<Event>,
}

impl Consumer {
    /// Creates the client, starts its threads and joins the group. Everything that happens from then on is told through
    /// `outbox`.
    ///
    /// # Errors
    ///
    /// Settings that are refused, properties that librdkafka does not accept, or no thread to be had. Unreachable
    /// brokers are no error here; see [`crate::reach`].
    pub fn start(settings: ConsumerSettings, outbox: UnboundedSender<Event>) -> Result<Self, StartError> {
        let properties = ClientProperties::of(&settings)?;
        let topics = Arc::new(Topics::default());
        let (log, lines) = sync_channel(log::LINES_WAITING_MAX);
        let tap = log::tap(&properties, Arc::clone(&topics), log);
        let client = create(ClientKind::Consumer, &properties.telling_of_topics(), tap)?;
        let reports = client.events().ok_or_else(|| StartError::Client { text: "it has no group".to_owned() })?;
        let (commit_orders, for_command) = channel();
        let (lookup_orders, for_lookup) = channel();
        let names = settings.subscription();
        for name in names.iter().filter(|name| !name.to_str().is_ok_and(is_pattern)) {
            topics.number(name);
        }
        let subscription = List::of(names.iter().map(|name| (name.as_c_str(), -1, 0)));
        let shared = Arc::new(Shared::new(
            settings,
            client,
            reports,
            Arc::clone(&topics),
            commit_orders,
            lookup_orders,
            outbox.clone(),
        ));
        shared.bell.iter().for_each(|bell| bell.wakes(&shared));
        // Those that did start would wait for ever.
        let threads = spawn(&shared, for_command, for_lookup, lines).inspect_err(|_| close::stop_threads(&shared))?;
        let consumer = Self { shared: Arc::downgrade(&shared), threads: Mutex::new(Some(threads)), topics, outbox };
        // On an error the consumer is dropped, which ends its threads.
        shared.client.subscribe(&subscription).map_err(|code| StartError::Subscribe { code: code_name(code) })?;
        Ok(consumer)
    }

    /// Commits; answered by [`Input::CommitEnded`]. Partitions that are not ours any more are left out; the answer is then
    /// [`RequestError::Unknown`] at best, since it is one for all, and [`RequestError::NotOurs`] when none is left.
    pub fn commit(&self, id: RequestId, offsets: Vec<CommitOffset>, metadata: String) {
        let answer = Input::CommitEnded { id, result: Err(RequestError::NotOurs) };
        self.request(answer, |shared| {
            let sent = shared.commit_orders.send(CommitOrder::Commit { id, offsets, metadata });
            shared.commit_ends.wake();
            sent.is_ok()
        });
    }

    /// Looks up what the group has committed; answered by [`Input::CommittedKnown`].
    pub fn ask_committed(&self, id: RequestId, partitions: Vec<Partition>) {
        let answer = Input::CommittedKnown { id, result: Err(RequestError::NotOurs) };
        self.request(answer, |shared| shared.lookup_orders.send(LookupOrder::Ask { id, partitions }).is_ok());
    }

    /// Seeks; answered by [`Input::Sought`]. From the call on, nothing of these partitions counts until they were sought.
    pub fn seek(&self, id: RequestId, targets: Vec<SeekTo>) {
        let results = targets.iter().map(|target| (target.partition, Err(RequestError::NotOurs))).collect();
        self.request(Input::Sought { id, results }, |shared| {
            shared.parking.leave_work(Work::Seek { id, targets });
            true
        });
    }

    /// Lets a revocation go on.
    pub fn answer_revoke(&self, id: RevokeId) {
        if let Some(shared) = self.shared.upgrade() {
            shared.revocations.answer(id);
        }
    }

    /// Leaves the group and destroys the client, on a thread of its own. Answered by [`Input::Left`], or by
    /// [`Event::CloseTimedOut`] after `wait`: then the process may end without further ado.
    pub fn leave(&self, wait: Duration) {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(threads), Some(shared)) = (threads, self.shared.upgrade()) {
            shared.closing.store(true, Ordering::Release);
            close::begin(shared, threads, wait, self.outbox.clone());
        }
    }

    /// Bytes that fetched records use now.
    #[must_use]
    pub fn buffered_bytes(&self) -> u64 {
        self.shared.upgrade().map_or(0, |shared| shared.credit.used())
    }

    /// The topics seen so far, subscribed ones first.
    #[must_use]
    pub fn topics(&self) -> Vec<(Topic, Arc<str>)> {
        self.topics.all()
    }

    /// A topic's name; bytes that are not UTF-8 are replaced. Empty for a number that was never given out.
    #[must_use]
    pub fn topic_name(&self, topic: Topic) -> Arc<str> {
        self.topics.name(topic).map_or_else(|| Arc::from(""), |name| Arc::clone(&name.text))
    }

    /// Passes a request on; when nobody is there to do it any more, `answer` says so.
    fn request(&self, answer: Input<crate::RecordBody>, pass: impl FnOnce(&Shared) -> bool) {
        let shared = self.shared.upgrade().filter(|shared| !shared.is_closing());
        if !shared.is_some_and(|shared| pass(&shared)) {
            let _ = self.outbox.send(Event::Input(answer));
        }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.leave(DROP_WAIT);
    }
}

impl std::fmt::Debug for Consumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consumer").field("topics", &self.topics.all()).finish_non_exhaustive()
    }
}

fn spawn(
    shared: &Arc<Shared>,
    for_command: Receiver<CommitOrder>,
    for_lookup: Receiver<LookupOrder>,
    lines: Receiver<LogLine>,
) -> Result<Threads, StartError> {
    let close_by = Arc::new(CloseBy::default());
    let thread = |name| move |source| StartError::Thread { name, source };
    Ok(Threads {
        fetch: fetch::spawn(shared).map_err(thread("kafka-fetch"))?,
        command: command::spawn(shared, for_command).map_err(thread("kafka-commit"))?,
        lookup: lookup::spawn(shared, for_lookup).map_err(thread("kafka-lookup"))?,
        events: events::spawn(shared, lines, Arc::clone(&close_by)).map_err(thread("kafka-events"))?,
        close_by,
    })
}

/// Creates a client with these properties. Its errors name no secret.
pub(crate) fn create(kind: ClientKind, properties: &ClientProperties, log: LogSink) -> Result<Client, StartError> {
    let owned = properties.raw();
    let pairs: Vec<(&CStr, &CStr)> = owned.iter().map(|(name, value)| (name.as_c_str(), value.as_c_str())).collect();
    Client::new(kind, &pairs, log).map_err(|text| StartError::Client { text: properties.without_secrets(&text) })
}
