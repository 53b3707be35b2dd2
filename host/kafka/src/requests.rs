//! Which requests to produce are open, which of their records are next, and when each request is answered.
//!
//! Pure: neither a client nor a clock. A request is answered once, when the last word about each of its records that the
//! client took has come: so no delivery follows that the answer does not know of. After a failure no more of it is sent.
//!
//! Requests go out in the order of their coming, records in the order of their request. One exception: a limit for the size is
//! about a whole batch, so where a broker says *too large* to several records it may mean none of them. They are sent again
//! one by one, with all that come after in the request, which keeps their order; the one that is refused alone is the culprit.

use std::collections::{BTreeMap, VecDeque};

use gristmill_core::io::RequestId;

use crate::error::{ProduceFailure, ProduceFailureKind};
use crate::outgoing::Outgoing;
use crate::sys::Code;

/// The one answer of a request.
pub(crate) type Answer = (RequestId, Result<(), ProduceFailure>);

/// The requests that have no answer yet.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// By the ticket of the first record; the tickets of the others follow it.
    open: BTreeMap<usize, Request>,
    /// Those that have records to send, in order.
    unsent: VecDeque<usize>,
    next_ticket: usize,
    bytes_out: u64,
    records_out: usize,
}

#[derive(Debug)]
struct Request {
    id: RequestId,
    records: Vec<Outgoing>,
    /// The index of the next record to send.
    next: usize,
    /// Records that the client has.
    out: usize,
    /// Send a record when the client has none.
    one_by_one: bool,
    /// The first of the records that a broker called too large while others may have shared its batch.
    too_large: Option<usize>,
    failure: Option<ProduceFailure>,
}

impl Requests {
    /// Takes a request in. One without records is answered at once.
    pub(crate) fn accept(&mut self, id: RequestId, records: Vec<Outgoing>) -> Option<Answer> {
        if records.is_empty() {
            return Some((id, Ok(())));
        }
        let first = self.next_ticket;
        self.next_ticket += records.len();
        self.unsent.push_back(first);
        let request = Request { id, records, next: 0, out: 0, one_by_one: false, too_large: None, failure: None };
        self.open.insert(first, request);
        None
    }

    /// The record to send next, with its ticket. None when there is none, or when it has to wait for an end.
    pub(crate) fn next(&self) -> Option<(usize, &Outgoing)> {
        let first = *self.unsent.front()?;
        let request = self.open.get(&first)?;
        // One batch may hold records of several requests.
        if request.one_by_one && self.records_out > 0 {
            return None;
        }
        request.records.get(request.next).map(|record| (first + request.next, record))
    }

    /// The client has taken the record that [`Requests::next`] gave.
    pub(crate) fn sent(&mut self, ticket: usize) {
        let Some((first, request)) = request_of(&mut self.open, ticket) else { return };
        self.bytes_out += request.bytes_of(ticket - first);
        self.records_out += 1;
        request.out += 1;
        request.next = ticket - first + 1;
        if request.next == request.records.len() {
            self.unsent.retain(|unsent| *unsent != first);
        }
    }

    /// The client will not take the record that [`Requests::next`] gave.
    pub(crate) fn refused(&mut self, ticket: usize, code: Code) -> Option<Answer> {
        let (first, request) = request_of(&mut self.open, ticket)?;
        request.fail(ProduceFailure::of(code, ticket - first));
        self.conclude(first)
    }

    /// The last word about a record that the client had.
    pub(crate) fn ended(&mut self, ticket: usize, result: Result<(), Code>) -> Option<Answer> {
        let (first, request) = request_of(&mut self.open, ticket)?;
        let index = ticket - first;
        request.out = request.out.saturating_sub(1);
        self.records_out = self.records_out.saturating_sub(1);
        self.bytes_out = self.bytes_out.saturating_sub(request.bytes_of(index));
        if let Err(code) = result {
            let failure = ProduceFailure::of(code, index);
            if failure.kind == ProduceFailureKind::TooLarge && !request.one_by_one {
                request.too_large = Some(request.too_large.map_or(index, |known| known.min(index)));
            } else {
                request.fail(failure);
            }
        }
        self.conclude(first)
    }

    /// Ends everything that is open with the same failure.
    pub(crate) fn give_up(&mut self, code: Code) -> Vec<Answer> {
        self.unsent.clear();
        (self.bytes_out, self.records_out) = (0, 0);
        let open = std::mem::take(&mut self.open).into_values();
        open.map(|request| (request.id, Err(request.failure.unwrap_or(ProduceFailure::of(code, 0))))).collect()
    }

    /// True when every request was answered.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The bytes of the records that the client has.
    pub(crate) fn bytes_out(&self) -> u64 {
        self.bytes_out
    }

    /// How many records the client has.
    pub(crate) fn records_out(&self) -> usize {
        self.records_out
    }

    /// Answers a request about which nothing more will come, or sends it on.
    fn conclude(&mut self, first: usize) -> Option<Answer> {
        let request = self.open.get_mut(&first)?;
        let stopped = request.failure.is_some() || request.too_large.is_some();
        if stopped {
            self.unsent.retain(|unsent| *unsent != first);
        }
        if request.out > 0 || (!stopped && request.next < request.records.len()) {
            return None;
        }
        if let (None, Some(index)) = (&request.failure, request.too_large.take()) {
            tracing::warn!(
                records = request.records.len() - index,
                "a batch was too large for its topic; its records are sent one by one. Set batch.size below max.message.bytes of the topic"
            );
            request.one_by_one = true;
            request.next = index;
            self.unsent.push_front(first);
            return None;
        }
        let request = self.open.remove(&first)?;
        Some((request.id, request.failure.map_or(Ok(()), Err)))
    }
}

impl Request {
    fn bytes_of(&self, index: usize) -> u64 {
        self.records.get(index).map_or(0, Outgoing::wire_bytes)
    }

    /// Keeps the first failure, unless a later one says what to do about it.
    fn fail(&mut self, failure: ProduceFailure) {
        let is_vague = |known: &ProduceFailure| known.kind == ProduceFailureKind::Temporary;
        if self.failure.as_ref().is_none_or(|known| is_vague(known) && !is_vague(&failure)) {
            self.failure = Some(failure);
        }
    }
}

/// The request that a ticket belongs to, with the ticket of its first record. None for tickets that were given up.
fn request_of(open: &mut BTreeMap<usize, Request>, ticket: usize) -> Option<(usize, &mut Request)> {
    let (first, request) = open.range_mut(..=ticket).next_back()?;
    (ticket - first < request.records.len()).then_some((*first, request))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outgoing::OutgoingBody;

    fn record(text: &str) -> Outgoing {
        let body = OutgoingBody::Owned { key: None, value: Some(text.as_bytes().to_vec()), headers: Vec::new() };
        Outgoing { topic: "t".into(), partition: None, timestamp_ms: None, body, added: Vec::new() }
    }

    fn accept(requests: &mut Requests, id: u64, texts: &[&str]) {
        let records = texts.iter().map(|text| record(text)).collect();
        assert_eq!(requests.accept(RequestId(id), records), None);
    }

    /// Sends what can be sent; gives the values with their tickets.
    fn send(requests: &mut Requests) -> Vec<(usize, String)> {
        let mut sent = Vec::new();
        while let Some((ticket, record)) = requests.next() {
            sent.push((ticket, String::from_utf8_lossy(record.value().unwrap_or_default()).into_owned()));
            requests.sent(ticket);
        }
        sent
    }

    fn values(sent: &[(usize, String)]) -> Vec<&str> {
        sent.iter().map(|(_, value)| value.as_str()).collect()
    }

    #[test]
    fn a_request_is_answered_with_its_last_record_and_once() {
        let mut requests = Requests::default();
        accept(&mut requests, 1, &["a", "b"]);
        accept(&mut requests, 2, &["c"]);
        let sent = send(&mut requests);
        assert_eq!(values(&sent), ["a", "b", "c"]);
        assert_eq!(requests.ended(sent[1].0, Ok(())), None);
        assert_eq!(requests.ended(sent[2].0, Ok(())), Some((RequestId(2), Ok(()))));
        assert_eq!(requests.ended(sent[0].0, Ok(())), Some((RequestId(1), Ok(()))));
        assert_eq!(requests.ended(sent[0].0, Ok(())), None);
        assert!(requests.is_empty());
        assert_eq!((requests.bytes_out(), requests.records_out()), (0, 0));
    }

    #[test]
    fn a_request_without_records_is_done() {
        assert_eq!(Requests::default().accept(RequestId(7), Vec::new()), Some((RequestId(7), Ok(()))));
    }

    #[test]
    fn a_failure_is_answered_when_nothing_can_be_delivered_any_more() {
        let mut requests = Requests::default();
        accept(&mut requests, 1, &["a", "b", "c"]);
        let first = requests.next().expect("there is one").0;
        requests.sent(first);
        requests.sent(first + 1);
        assert_eq!(requests.ended(first, Err(Code::MessageTimedOut)), None);
        assert!(requests.next().is_none(), "a request that failed sends no more");
        let answer = requests.ended(first + 1, Ok(()));
        assert_eq!(answer, Some((RequestId(1), Err(ProduceFailure::of(Code::MessageTimedOut, 0)))));
    }

    #[test]
    fn a_record_that_the_client_refuses_fails_its_request_and_no_other() {
        let mut requests = Requests::default();
        accept(&mut requests, 1, &["a", "b"]);
        accept(&mut requests, 2, &["c"]);
        let first = requests.next().expect("there is one").0;
        requests.sent(first);
        assert_eq!(requests.refused(first + 1, Code::MessageSizeTooLarge), None);
        assert_eq!(values(&send(&mut requests)), ["c"]);
        let answer = requests.ended(first, Ok(()));
        assert_eq!(answer, Some((RequestId(1), Err(ProduceFailure::of(Code::MessageSizeTooLarge, 1)))));
        assert_eq!(requests.ended(first + 2, Ok(())), Some((RequestId(2), Ok(()))));
    }

    #[test]
    fn the_failure_that_says_what_to_do_wins_over_one_that_does_not() {
        let mut requests = Requests::default();
        accept(&mut requests, 1, &["a", "b", "c"]);
        let sent = send(&mut requests);
        assert_eq!(requests.ended(sent[0].0, Err(Code::InvalidDifferentRecord)), None);
        assert_eq!(requests.ended(sent[1].0, Err(Code::InvalidRecord)), None);
        let answer = requests.ended(sent[2].0, Err(Code::InvalidDifferentRecord));
        assert_eq!(answer, Some((RequestId(1), Err(ProduceFailure::of(Code::InvalidRecord, 1)))));
    }

    #[test]
    fn a_batch_that_is_too_large_is_sent_again_one_by_one_from_its_first_record() {
        let mut requests = Requests::default();
        accept(&mut requests, 1, &["a", "b", "c"]);
        accept(&mut requests, 2, &["d"]);
        let sent = send(&mut requests);
        for (ticket, result) in [(2, Ok(())), (1, Err(Code::MessageSizeTooLarge)), (0, Ok(()))] {
            assert_eq!(requests.ended(sent[ticket].0, result), None);
        }
        assert!(requests.next().is_none(), "the other request may share its batch");
        assert_eq!(requests.ended(sent[3].0, Ok(())), Some((RequestId(2), Ok(()))));
        for value in ["b", "c"] {
            let one = send(&mut requests);
            assert_eq!(values(&one), [value], "each waits for the one before it");
            let answer = requests.ended(one[0].0, Ok(()));
            assert_eq!(answer, (value == "c").then_some((RequestId(1), Ok(()))));
        }
    }

    #[test]
    fn a_record_that_is_too_large_by_itself_is_named() {
        let mut requests = Requests::default();
        accept(&mut requests, 1, &["a", "b", "c"]);
        for (ticket, _) in send(&mut requests) {
            assert_eq!(requests.ended(ticket, Err(Code::MessageBatchTooLarge)), None);
        }
        let one = send(&mut requests);
        assert_eq!(requests.ended(one[0].0, Ok(())), None);
        let two = send(&mut requests);
        assert_eq!(values(&two), ["b"]);
        let answer = requests.ended(two[0].0, Err(Code::MessageSizeTooLarge));
        assert_eq!(answer, Some((RequestId(1), Err(ProduceFailure::of(Code::MessageSizeTooLarge, 1)))));
        assert!(requests.is_empty());
    }

    #[test]
    fn bytes_count_from_sending_to_the_end() {
        let mut requests = Requests::default();
        accept(&mut requests, 1, &["abc", "d"]);
        let first = requests.next().expect("there is one").0;
        let bytes = record("abc").wire_bytes();
        requests.sent(first);
        assert_eq!((requests.bytes_out(), requests.records_out()), (bytes, 1));
        assert_eq!(requests.ended(first, Ok(())), None);
        assert_eq!((requests.bytes_out(), requests.records_out()), (0, 0));
    }

    #[test]
    fn what_is_given_up_is_answered_once_and_late_ends_say_nothing() {
        let mut requests = Requests::default();
        accept(&mut requests, 1, &["a"]);
        accept(&mut requests, 2, &["b"]);
        let sent = send(&mut requests);
        assert_eq!(requests.give_up(Code::PurgeQueue).len(), 2);
        assert_eq!(requests.ended(sent[0].0, Ok(())), None);
        accept(&mut requests, 3, &["c"]);
        let next = send(&mut requests);
        assert_ne!(next[0].0, sent[1].0, "a ticket is never used twice");
        assert_eq!(requests.ended(sent[1].0, Err(Code::PurgeQueue)), None);
        assert_eq!(requests.ended(next[0].0, Ok(())), Some((RequestId(3), Ok(()))));
    }
}
