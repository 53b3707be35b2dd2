//! What an answer means for the records of its request.
//!
//! It must not know how the answer came, nor what time it is.

use std::net::{Ipv6Addr, SocketAddrV6};
use std::time::{Duration, SystemTime};

use crate::part::{self, inside};
use crate::request::Answer;
use crate::settings::{ClientErrors, Settings};

/// How much of what the server says is told.
const WORDS_CHARS_MAX: usize = 200;

/// In so many bytes there are more characters than that, whatever they are.
const WORDS_BYTES_MAX: usize = (WORDS_CHARS_MAX + 2) * 4;

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
        // Not its body: that names the address as well, with all that is secret in it.
        300..400 => Verdict::Lasting(format!(
            "the server answers {}, and nobody follows it elsewhere: write the address that it leads to as url{}",
            answer.status,
            answer.location.as_deref().map_or(String::new(), elsewhere)
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
    let what_follows = if end < location.len() { " and what follows it" } else { "" };
    // A user stands before an @, and there are readers to whom a backslash is a slash: nobody guesses what else such an address is.
    if location.contains(['@', '\\']) || !is_address(address) {
        return "; its header location is not shown here, since that is no plain address".to_owned();
    }
    format!(", \"{}\"{what_follows}", short(address))
}

/// True for `scheme://host:port/path`, and for `/path`.
fn is_address(text: &str) -> bool {
    text.starts_with('/')
        || text.split_once("://").is_some_and(|(scheme, rest)| {
            let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            scheme.chars().all(is_scheme) && is_authority(&rest[..rest.find('/').unwrap_or(rest.len())])
        })
}

/// True for `host:port` and `host`.
fn is_authority(text: &str) -> bool {
    let six = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    if six.is_some_and(|six| six.parse::<Ipv6Addr>().is_ok()) || text.parse::<SocketAddrV6>().is_ok() {
        return true;
    }
    let (host, port) = text.split_once(':').unwrap_or((text, ""));
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    !host.is_empty() && host.chars().all(is_host) && port.chars().all(|c| c.is_ascii_digit())
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
    let list = part::whole(&answer.body).ok().and_then(|json| inside(json, &results.list));
    // One more than there may be is enough to know.
    let Some(list) = list.and_then(|list| part::items(list, 0, records.saturating_add(1))) else {
        let place = results.list.iter().fold(String::new(), |place, step| format!("{place}/{step}"));
        return unreadable(&format!(
            "the answer has no list {}",
            if place.is_empty() { "and is none" } else { &place }
        ));
    };
    if list.len() != records {
        let more_than = if list.len() > records { "more than " } else { "" };
        let results = list.len().min(records);
        return unreadable(&format!("the answer has {more_than}{results} results for {records} records"));
    }
    let failed = list.iter().enumerate().filter_map(|(at, result)| Some((at, failure(result, &results.failure)?)));
    Verdict::Done(failed.collect())
}

/// Why a result tells of a failure; `None` where it does not.
fn failure(result: &str, steps: &[String]) -> Option<String> {
    let told = match inside(result, steps)? {
        "null" | "false" => return None,
        // A text that is none (half a surrogate) is told as it is written, as everything else.
        json => serde_json::from_str::<String>(json).map_or_else(|_| short(json), |text| short(&text)),
    };
    Some(format!("the server says: {told}"))
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
    let begin = body.trim_ascii_start();
    let text = String::from_utf8_lossy(&begin[..begin.len().min(WORDS_BYTES_MAX)]);
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

    /// What is told of a redirect with that location. Its body repeats it.
    fn led(location: Option<&str>) -> String {
        let settings = Settings::read([("url".to_owned(), "http://a".to_owned())]).unwrap();
        let location = location.map(str::to_owned);
        let body = format!("<a href=\"{}\">", location.as_deref().unwrap_or("/x?secret")).into_bytes();
        let answer = Answer { status: 308, location, body, ..Answer::default() };
        let Verdict::Lasting(why) = judge(&settings, 1, &answer, SystemTime::UNIX_EPOCH) else { panic!("not lasting") };
        assert!(why.starts_with("the server answers 308, and nobody follows it") && why.len() < 400, "{why}");
        assert!(!why.contains("secret") && !why.contains("href"), "{why}");
        why
    }

    #[test]
    fn an_answer_that_leads_elsewhere_says_where_without_secrets_and_without_its_body() {
        let long = format!("/{}", "x".repeat(10_000));
        for (location, shown) in [
            (Some("https://api.example.com/v2/purls"), ", \"https://api.example.com/v2/purls\""),
            (Some("http://[::1]:8080/c?token=secret#secret"), ", \"http://[::1]:8080/c\" and what follows it"),
            (Some("https://[fe80::1]"), ", \"https://[fe80::1]\""),
            (Some("//b.example:80/c#secret"), ", \"//b.example:80/c\" and what follows it"),
            (Some("/login?secret"), ", \"/login\" and what follows it"),
            (Some("/\u{1b}[31m"), ", \"/ [31m\""),
            (Some(&long), "…\""),
            (None, "as url"),
        ] {
            let why = led(location);
            assert!(why.ends_with(shown), "{why}");
        }
    }

    #[test]
    fn a_location_that_may_hold_a_user_is_not_shown() {
        for location in [
            "https://u:secret@b.example/c",
            "//u:secret@b",
            "https:/u:secret@evil/path",
            r"\\u:secret@evil\path",
            r"/\u:secret",
            "http://u:sec?ret@evil/path",
            "http://u:sec/ret@evil/path",
            "http://u:secret",
            "http://secret%40evil/path",
            "http://[secret]/path",
            "http:///secret",
            "secret://b c/",
            "u:secret",
            "secret",
            "",
        ] {
            let why = led(Some(location));
            assert!(
                why.ends_with("as url; its header location is not shown here, since that is no plain address"),
                "{why}"
            );
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

    /// What stands around them, and how deep, is nobody's concern.
    #[test]
    fn of_a_result_only_what_tells_of_a_failure_is_looked_at() {
        let settings = [("results", "/items"), ("failure", "/error")];
        let zeros = format!("[0{}]", ",0".repeat(1 << 20));
        let deep = format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20));
        let body = format!("{{\"a\":{deep},\"items\":[{{\"a\":{zeros}}},{{\"n\":1e999,\"error\":{zeros}}}]}}");
        let Verdict::Done(failed) = judged(&settings, 200, None, &body) else { panic!("not done") };
        assert_eq!(failed.len(), 1);
        let (at, reason) = &failed[0];
        assert!(*at == 1 && reason.starts_with("the server says: [0,0,0,") && reason.len() < 300, "{reason}");
    }

    #[test]
    fn a_list_of_a_million_results_is_read_to_the_first_that_is_too_many() {
        let body = format!("{{\"items\":[0{}]}}", ",0".repeat(1 << 20));
        let verdict = judged(&[("results", "/items"), ("failure", "/error")], 200, None, &body);
        let words =
            "the answer has more than 2 results for 2 records; check the settings results and failure: {\"items\"";
        assert!(matches!(&verdict, Verdict::Lasting(why) if why.contains(words) && why.len() < 600), "{verdict:?}");
    }

    #[test]
    fn a_failure_that_is_no_text_is_told_as_it_is_written() {
        let settings = [("results", "array"), ("failure", "e")];
        let told = vec![(0, r#"the server says: "\ud800""#.to_owned()), (1, "the server says: 1e999".to_owned())];
        assert_eq!(judged(&settings, 200, None, r#"[{"e":"\ud800"},{"e":1e999}]"#), Verdict::Done(told));
    }

    #[test]
    fn results_that_are_not_there_are_for_somebody_to_look_at() {
        let settings = [("results", "/items"), ("failure", "error")];
        for (body, words) in [
            ("", "the answer has no list /items; check the settings results and failure"),
            ("{}", "the answer has no list /items; check the settings results and failure: {}"),
            (r#"{"items":[{}]}"#, "the answer has 1 results for 2 records"),
            (r#"{"items":[{},{},{}]}"#, "the answer has more than 2 results for 2 records"),
            (r#"{"items":[{},{}]} and more"#, "the answer has no list /items"),
            (r#"{"items":{}}"#, "the answer has no list /items"),
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
