//! What an answer means for the records of its request.
//!
//! It must not know how the answer came, nor what time it is.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::item::inside;
use crate::request::Answer;
use crate::settings::{ClientErrors, Settings};

/// How much of what the server says is told.
const WORDS_CHARS_MAX: usize = 200;

/// Longer waits are not asked for: the host has bounds of its own, and a date may be a mistake.
const WAIT_MAX: Duration = Duration::from_secs(24 * 3600);

/// What an answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All records are done but for these: the place in the request, and why.
    Done(Vec<(usize, String)>),
    /// Time may help; a wish for the wait.
    Passing(String, Option<Duration>),
    /// Some record is to blame.
    Blamed(String),
    /// Somebody has to change something.
    Lasting(String),
}

/// Judges the answer to a request of so many records.
pub(crate) fn judge(settings: &Settings, records: usize, answer: &Answer, now: SystemTime) -> Verdict {
    let told = || format!("the server answers {}{}", answer.status, words(&answer.body));
    match answer.status {
        200..300 => results(settings, records, answer),
        408 | 425 | 429 | 500..600 => {
            let wait = answer.retry_after.as_deref().and_then(|text| wait(text, now));
            Verdict::Passing(told(), wait)
        }
        // Not for lack of a record's sense but of a right, which each record would lack.
        401 | 403 => Verdict::Lasting(format!("{}; check the headers of the URL in http of [plugin.grants]", told())),
        407 => Verdict::Lasting(format!(
            "{}; a proxy on the way wants credentials, which no grant can give it: lead to the server without it, or have it let this \
             host through",
            told()
        )),
        400..500 if settings.client_errors == ClientErrors::Reject => Verdict::Blamed(told()),
        400..500 => Verdict::Lasting(format!(
            "{}; where single records are to blame, client_errors = \"reject\" finds them and puts them aside",
            told()
        )),
        300..400 => Verdict::Lasting(format!(
            "{}, and nobody follows it elsewhere: write the address that it leads to as url{}",
            told(),
            answer.location.as_deref().map_or(String::new(), |text| format!(", {}", elsewhere(text)))
        )),
        ..200 | 600.. => Verdict::Lasting(format!(
            "{}, a status that HTTP does not know: check what answers at the setting url",
            told()
        )),
    }
}

/// Where an answer leads to, without what may be secret in it.
fn elsewhere(location: &str) -> String {
    let end = location.find(['?', '#']).unwrap_or(location.len());
    let address = &location[..end];
    let public = match address.split_once("//") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            let host = authority.rsplit_once('@').map_or(authority, |(_user, host)| host);
            format!("{scheme}//{host}{path}")
        }
        None => address.to_owned(),
    };
    format!("\"{}\"{}", short(&public), if end < location.len() { " and what follows it" } else { "" })
}

/// What the body of a good answer tells of each record, where the settings say that it does.
fn results(settings: &Settings, records: usize, answer: &Answer) -> Verdict {
    let Some(results) = &settings.results else { return Verdict::Done(Vec::new()) };
    // Sent again they would be taken again, and told of in the same way.
    let unreadable = |why: &str| {
        Verdict::Lasting(format!(
            "the server answers {}, so that it has taken the records, but what became of each cannot be read: {why}; check the \
             settings results and failure{}",
            answer.status,
            words(&answer.body)
        ))
    };
    let Ok(text) = std::str::from_utf8(&answer.body) else { return unreadable("the answer is not UTF-8") };
    let list = inside(text.trim_ascii(), &results.list).and_then(|list| serde_json::from_str::<Vec<Value>>(list).ok());
    let Some(list) = list else {
        let place = results.list.iter().fold(String::new(), |place, step| format!("{place}/{step}"));
        return unreadable(&format!(
            "the answer has no list {}",
            if place.is_empty() { "and is none" } else { &place }
        ));
    };
    if list.len() != records {
        return unreadable(&format!("the answer has {} results for {records} records", list.len()));
    }
    let failed = list.iter().enumerate().filter_map(|(at, result)| Some((at, failure(result, &results.failure)?)));
    Verdict::Done(failed.collect())
}

/// Why a result tells of a failure; `None` where it does not.
fn failure(result: &Value, steps: &[String]) -> Option<String> {
    let step_in = |value: &'_ Value, step: &String| match value {
        Value::Object(members) => members.get(step).cloned(),
        Value::Array(items) => items.get(step.parse::<usize>().ok()?).cloned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    let told = steps.iter().try_fold(result.clone(), |value, step| step_in(&value, step))?;
    match told {
        Value::Null | Value::Bool(false) => None,
        Value::String(text) => Some(format!("the server says: {}", short(&text))),
        other => Some(format!("the server says: {}", short(&other.to_string()))),
    }
}

/// How long to wait: seconds, or until a time.
fn wait(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        // A time that has passed asks for no wait.
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(WAIT_MAX))
}

/// The beginning of what the server says, on one line.
fn words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(": {}", short(text)) }
}

fn short(text: &str) -> String {
    let line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut shown: String = line.take(WORDS_CHARS_MAX).collect();
    if text.chars().nth(WORDS_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(settings: &[(&str, &str)], status: u16, retry_after: Option<&str>, body: &str) -> Verdict {
        let settings =
            [("url", "http://a")].iter().chain(settings).map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let settings = Settings::read(settings).unwrap();
        let answer = Answer { status, retry_after: retry_after.map(str::to_owned), location: None, body: body.into() };
        // 1994-11-06T08:49:37Z
        judge(&settings, 2, &answer, SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777))
    }

    #[test]
    fn what_time_may_heal_is_passing_with_the_wish_for_the_wait() {
        for (text, seconds) in [
            (Some("7"), Some(7)),
            (Some(" 0 "), Some(0)),
            (Some("Sun, 06 Nov 1994 08:50:00 GMT"), Some(23)),
            (Some("Sunday, 06-Nov-94 08:50:00 GMT"), Some(23)),
            (Some("Sun Nov  6 08:49:00 1994"), Some(0)),
            (Some("99999999999"), Some(24 * 3600)),
            (Some("soon"), None),
            (Some("-1"), None),
            (None, None),
        ] {
            let wait = seconds.map(Duration::from_secs);
            assert_eq!(
                judged(&[], 503, text, ""),
                Verdict::Passing("the server answers 503".to_owned(), wait),
                "{text:?}"
            );
        }
        for status in [408, 425, 429, 500, 502, 504, 599] {
            assert!(matches!(judged(&[], status, None, ""), Verdict::Passing(..)), "{status}");
        }
    }

    #[test]
    fn faults_of_the_request_are_for_somebody_or_for_a_record_as_the_setting_says() {
        let reject = [("client_errors", "reject")];
        for status in [400, 404, 409, 413, 422] {
            assert!(
                matches!(judged(&[], status, None, ""), Verdict::Lasting(why) if why.contains("client_errors")),
                "{status}"
            );
            assert!(matches!(judged(&reject, status, None, ""), Verdict::Blamed(_)), "{status}");
        }
        for status in [401, 403] {
            let verdict = judged(&reject, status, None, "");
            assert!(matches!(&verdict, Verdict::Lasting(why) if why.contains("[plugin.grants]")), "{verdict:?}");
        }
        let proxy = judged(&reject, 407, None, "");
        assert!(
            matches!(&proxy, Verdict::Lasting(why) if why.contains("a proxy on the way wants credentials")),
            "{proxy:?}"
        );
    }

    #[test]
    fn a_status_that_is_none_is_for_somebody_to_look_at() {
        let reject = [("client_errors", "reject")];
        for status in [0, 100, 199, 600, 700, 999] {
            let verdict = judged(&reject, status, Some("1"), "odd");
            let words = format!("the server answers {status}: odd, a status that HTTP does not know");
            assert!(matches!(&verdict, Verdict::Lasting(why) if why.starts_with(&words)), "{verdict:?}");
        }
    }

    #[test]
    fn an_answer_that_leads_elsewhere_says_where_without_secrets() {
        let settings = Settings::read([("url".to_owned(), "http://a".to_owned())]).unwrap();
        let long = format!("/{}", "x".repeat(10_000));
        for (location, shown) in [
            (Some("https://api.example.com/v2/purls"), ", \"https://api.example.com/v2/purls\""),
            (Some("https://u:secret@b.example/c?token=secret#secret"), ", \"https://b.example/c\" and what follows it"),
            (Some("//u:secret@b"), ", \"//b\""),
            (Some("/login?secret"), ", \"/login\" and what follows it"),
            (Some("/\u{1b}[31m"), ", \"/ [31m\""),
            (Some(&long), "…\""),
            (None, "as url"),
        ] {
            let answer = Answer { status: 308, location: location.map(str::to_owned), ..Answer::default() };
            let Verdict::Lasting(why) = judge(&settings, 1, &answer, SystemTime::UNIX_EPOCH) else {
                panic!("not lasting")
            };
            assert!(why.ends_with(shown) && !why.contains("secret") && why.len() < 400, "{why}");
        }
    }

    #[test]
    fn what_the_server_says_is_told_in_short_and_on_one_line() {
        let Verdict::Lasting(why) = judged(&[], 400, None, &format!("no\u{1b}[31m\npurl {}", "x".repeat(10_000)))
        else {
            panic!("not lasting")
        };
        assert!(why.starts_with("the server answers 400: no [31m purl xxx") && why.chars().count() < 400, "{why}");
    }

    #[test]
    fn results_tell_of_each_record() {
        let settings = [("results", "/items"), ("failure", "/error/text")];
        let body = r#" {"items":[{"error":null},{"error":{"text":"no such purl"}}]} "#;
        assert_eq!(
            judged(&settings, 207, None, body),
            Verdict::Done(vec![(1, "the server says: no such purl".to_owned())])
        );
        let flags = [("results", "array"), ("failure", "failed")];
        assert_eq!(judged(&flags, 200, None, r#"[{"failed":false},{}]"#), Verdict::Done(vec![]));
        let told = vec![(0, "the server says: true".to_owned()), (1, "the server says: {\"a\":1}".to_owned())];
        assert_eq!(judged(&flags, 200, None, r#"[{"failed":true},{"failed":{"a":1}}]"#), Verdict::Done(told));
        assert_eq!(judged(&[], 204, None, ""), Verdict::Done(vec![]));
    }

    #[test]
    fn results_that_are_not_there_are_for_somebody_to_look_at() {
        let settings = [("results", "/items"), ("failure", "error")];
        for (body, words) in [
            ("", "the answer has no list /items; check the settings results and failure"),
            ("{}", "the answer has no list /items; check the settings results and failure: {}"),
            (r#"{"items":[{}]}"#, "the answer has 1 results for 2 records"),
        ] {
            let verdict = judged(&settings, 202, None, body);
            let taken =
                "the server answers 202, so that it has taken the records, but what became of each cannot be read: ";
            let begin = format!("{taken}{words}");
            assert!(matches!(&verdict, Verdict::Lasting(why) if why.starts_with(&begin)), "{verdict:?}");
        }
        let array = [("results", "array"), ("failure", "error")];
        let verdict = judged(&array, 200, None, "ok");
        assert!(matches!(&verdict, Verdict::Lasting(why) if why.contains("no list and is none")), "{verdict:?}");
    }
}
