//! A batch on its way to the server, request by request, and what follows from the answers.
//!
//! It must not know how a request is sent: that is handed in.

use std::time::{Duration, SystemTime};

use gristmill_plugin::{Batch, Failure, Retry, fatal};

use crate::item::{self, Item};
use crate::request::{Answer, Request, SendError, request};
use crate::settings::Settings;
use crate::verdict::{Verdict, judge};

/// How many attempts at a batch send the very same requests. A server that goes by their names does nothing twice then, where only
/// an answer was lost.
const SAME_ATTEMPTS: u32 = 2;

/// An answer that took less than this part of what a batch may take leaves room for a larger request.
const QUICK: u32 = 10;

/// Sends a batch with `send`. Requests go out one after the other, so that what is done is a beginning of the batch.
pub(crate) fn send_batch(
    settings: &Settings,
    batch: &Batch,
    mut send: impl FnMut(&Request<'_>) -> Result<Answer, SendError>,
    now: impl Fn() -> SystemTime,
) -> Result<(), Failure> {
    let items = item::items(settings, batch);
    // What is still to be sent, the first on top; a request is halved to find the record that the server blames.
    let mut left = vec![items.as_slice()];
    let mut records_max = records_at_first(settings, batch.attempt());
    let mut longest = Duration::ZERO;
    while let Some(items) = left.pop().filter(|items| !items.is_empty()) {
        let (items, rest) = items.split_at(item::fitting(settings, items, records_max));
        if !rest.is_empty() {
            left.push(rest);
        }
        let time_left = batch.time_left();
        if !is_first(&items[0]) && (batch.is_cancelled() || time_left < longest) {
            return Err(Retry::now().because("there is no time left for the next request of this batch"));
        }
        let answer = send(&request(settings, batch.pipeline(), items, time_left * 9 / 10));
        let took = time_left.saturating_sub(batch.time_left());
        longest = longest.max(took);
        let verdict = match answer {
            Ok(answer) => judge(settings, items.len(), &answer, now()),
            Err(SendError::Passing(reason)) => Verdict::Passing(reason, None),
            Err(SendError::Lasting(reason)) => Verdict::Lasting(reason),
        };
        match verdict {
            Verdict::Done(failed) => {
                failed.into_iter().for_each(|(at, reason)| batch.reject(items[at].record, reason));
                done(batch, items);
                if took * QUICK <= batch.time_limit() {
                    records_max = (records_max * 2).min(settings.records_max);
                }
            }
            Verdict::Blamed(reason) => match items {
                [item] => {
                    batch.reject(item.record, reason);
                    done(batch, items);
                }
                _ => {
                    let (first, second) = items.split_at(items.len() / 2);
                    left.extend([second, first]);
                }
            },
            Verdict::Passing(reason, wait) => return Err(wait.map_or(Retry::now(), Retry::after).because(reason)),
            Verdict::Lasting(reason) => return Err(fatal(reason)),
        }
    }
    Ok(())
}

/// How many records the first request of an attempt takes at the most. When a batch comes again and again, it has not got through its
/// first request in the time of a call: a server that is slow with so many records, or one to blame whom the halving does not reach.
/// With each further attempt it is a quarter of them, down to one record, so that the search does not begin where it began before.
fn records_at_first(settings: &Settings, attempt: u32) -> usize {
    let quarterings = attempt.saturating_sub(SAME_ATTEMPTS).min(15);
    (settings.records_max >> (2 * quarterings)).max(1)
}

/// Nothing of the batch was sent before it, so that giving up would be no beginning.
fn is_first(item: &Item<'_>) -> bool {
    item.record.index() == 0
}

fn done(batch: &Batch, items: &[Item<'_>]) {
    if let Some(last) = items.last() {
        batch.done_through(last.record);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use gristmill_plugin::{Effects, Fixture, FixtureRecord, Outcome, run_batch};

    use super::*;

    /// Answers each request by what it holds.
    fn run(
        settings: &[(&str, &str)],
        values: &[&str],
        answer: impl Fn(&str) -> Result<Answer, SendError>,
    ) -> (Outcome, Vec<String>) {
        run_attempt(1, settings, values, answer)
    }

    fn run_attempt(
        attempt: u32,
        settings: &[(&str, &str)],
        values: &[&str],
        answer: impl Fn(&str) -> Result<Answer, SendError>,
    ) -> (Outcome, Vec<String>) {
        let settings =
            [("url", "http://a")].iter().chain(settings).map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let settings = Settings::read(settings).unwrap();
        let sent = RefCell::new(Vec::new());
        let send = |request: &Request<'_>| {
            let body = String::from_utf8(request.body.clone()).unwrap();
            sent.borrow_mut().push(body.clone());
            answer(&body)
        };
        let records = values.iter().map(|value| FixtureRecord::new().value(*value));
        let process = |batch: &Batch| send_batch(&settings, batch, send, SystemTime::now);
        let outcome = run_batch(process, records.fold(Fixture::new().attempt(attempt), Fixture::record));
        (outcome, sent.into_inner())
    }

    fn status(status: u16) -> Result<Answer, SendError> {
        Ok(Answer { status, ..Answer::default() })
    }

    fn rejected(effects: &Effects) -> Vec<usize> {
        effects.rejected.iter().map(|rejection| rejection.index).collect()
    }

    #[test]
    fn requests_go_out_one_after_the_other_until_all_is_done() {
        let (outcome, sent) = run(&[("max_records", "2")], &["1", "2", "3"], |_| status(201));
        assert_eq!((outcome, sent), (Outcome::OK, vec!["[1,2]".to_owned(), "[3]".to_owned()]));
    }

    #[test]
    fn what_is_done_before_a_passing_failure_stays_done() {
        let busy = |body: &str| {
            if body == "[6,7]" {
                Ok(Answer { status: 429, retry_after: Some("3".to_owned()), ..Answer::default() })
            } else {
                status(200)
            }
        };
        let (outcome, sent) = run(&[("max_records", "2")], &["1", "{", "3", "4", "5", "6", "7"], busy);
        let Outcome::Retryable { reason, after, completed: Some(progress), .. } = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!((reason.as_str(), after), ("the server answers 429", Some(Duration::from_secs(3))));
        assert_eq!((progress.records, rejected(&progress.effects)), (5, vec![1]));
        assert_eq!(sent, ["[1,3]", "[4,5]", "[6,7]"]);
    }

    #[test]
    fn the_record_that_the_server_blames_is_found_and_the_others_are_sent() {
        let fussy = |body: &str| status(if body.contains('5') { 422 } else { 200 });
        let values: Vec<String> = (10..20).map(|n| n.to_string()).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let (outcome, sent) = run(&[("client_errors", "reject")], &values, fussy);
        let Outcome::Ok(effects) = outcome else { panic!("{outcome:?}") };
        assert_eq!(rejected(&effects), [5]);
        assert_eq!(effects.rejected[0].reason, "the server answers 422");
        let good: Vec<&String> = sent.iter().filter(|body| !body.contains('5')).collect();
        assert_eq!(good, ["[10,11,12,13,14]", "[16]", "[17,18,19]"].iter().collect::<Vec<_>>());
        let (outcome, _) = run(&[], &["5"], fussy);
        assert!(matches!(outcome, Outcome::Fatal { reason } if reason.starts_with("the server answers 422")));
    }

    #[test]
    fn a_batch_that_comes_again_and_again_goes_out_in_smaller_requests_which_grow_while_answers_are_quick() {
        let values = ["1"; 20];
        let sizes = |attempt: u32| -> Vec<usize> {
            let (outcome, sent) = run_attempt(attempt, &[("max_records", "16")], &values, |_| status(200));
            assert_eq!(outcome, Outcome::OK);
            sent.iter().map(|body| body.matches('1').count()).collect()
        };
        assert_eq!(sizes(1), [16, 4]);
        assert_eq!(sizes(2), sizes(1), "a lost answer is asked for by the same name");
        assert_eq!(sizes(3), [4, 8, 8]);
        assert_eq!(sizes(4), [1, 2, 4, 8, 5]);
        assert_eq!(sizes(u32::MAX), sizes(4));
    }

    #[test]
    fn a_result_for_each_record_rejects_those_that_failed() {
        let settings = [("results", "array"), ("failure", "error"), ("max_records", "2")];
        let answer =
            |_: &str| Ok(Answer { status: 200, body: br#"[{},{"error":"bad"}]"#.to_vec(), ..Answer::default() });
        let (outcome, _) = run(&settings, &["1", "2", "3", "4"], answer);
        let Outcome::Ok(effects) = outcome else { panic!("{outcome:?}") };
        assert_eq!(rejected(&effects), [1, 3]);
    }

    #[test]
    fn a_server_that_is_not_reached_is_worth_a_wait_and_one_that_may_not_be_is_fatal() {
        let (outcome, _) = run(&[], &["1"], |_| Err(SendError::Passing("refused".to_owned())));
        assert!(matches!(outcome, Outcome::Retryable { reason, completed: None, .. } if reason == "refused"));
        let (outcome, _) = run(&[], &["1"], |_| Err(SendError::Lasting("not granted".to_owned())));
        assert_eq!(outcome, Outcome::Fatal { reason: "not granted".to_owned() });
    }

    #[test]
    fn a_batch_without_anything_to_send_sends_nothing() {
        let (outcome, sent) = run(&[("tombstones", "skip")], &[], |_| status(500));
        assert_eq!((outcome, sent.len()), (Outcome::OK, 0));
    }
}
