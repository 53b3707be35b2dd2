//! The language of the control socket: one request a line, one answer a line, both JSON, both with the version of the language.
//!
//! It does not know who speaks, nor what becomes of a wish.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::host_status::HostStatus;

/// Version of this language. It rises when a request or a field changes its meaning; new ones may come without.
pub(crate) const VERSION: u64 = 1;

/// What somebody asks of a running host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// What are you doing?
    Status {},
    /// Hand nothing over for now.
    Pause {},
    /// Hand over again.
    Resume {},
    /// Try again what is held or waits.
    Retry {},
    /// Write the batch that is held to the dead-letter topic, and go on behind it.
    Skip {
        /// Why, for whoever reads the dead letters.
        reason: String,
        /// Only what is held at these positions, as the status names them. Without: whatever is held.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<String>,
    },
    /// Finish the running batch, commit, leave (S1); or leave at once (S2).
    Stop {
        /// Leave at once.
        #[serde(default)]
        now: bool,
    },
}

impl Request {
    /// Its word, for logs.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Status {} => "status",
            Self::Pause {} => "pause",
            Self::Resume {} => "resume",
            Self::Retry {} => "retry",
            Self::Skip { .. } => "skip",
            Self::Stop { now: false } => "stop",
            Self::Stop { now: true } => "stop now",
        }
    }

    /// Reads one line.
    ///
    /// # Errors
    /// What does not fit, for whoever wrote it.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, Refusal> {
        let not_json = |text: String| Refusal::new(RefusalCode::NotJson, text);
        let value: Value =
            serde_json::from_slice(line).map_err(|error| not_json(format!("the line is no JSON: {error}")))?;
        let Value::Object(mut members) = value else {
            return Err(not_json("the line is no JSON object".to_owned()));
        };
        let version = members.shift_remove("version");
        if version.as_ref().and_then(Value::as_u64) != Some(VERSION) {
            let spoken = version.map_or_else(|| "none".to_owned(), |version| version.to_string());
            let text =
                format!("this host speaks version {VERSION} of the control language, and the request names {spoken}");
            return Err(Refusal::new(RefusalCode::OtherVersion, text));
        }
        serde_json::from_value(Value::Object(members))
            .map_err(|error| Refusal::new(RefusalCode::UnknownRequest, format!("the request does not fit: {error}")))
    }

    /// Writes it as one line.
    pub(crate) fn line(&self) -> String {
        one_line(&Versioned { version: VERSION, what: self })
    }
}

/// What is said back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Answer {
    /// It was done.
    Done(Box<Done>),
    /// It was not.
    Refused {
        /// Why.
        error: Refusal,
    },
}

impl Answer {
    /// Writes it as one line.
    pub(crate) fn line(&self) -> String {
        one_line(&Versioned { version: VERSION, what: self })
    }
}

impl From<Refusal> for Answer {
    fn from(error: Refusal) -> Self {
        Self::Refused { error }
    }
}

/// What follows from a request that was fulfilled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Done {
    /// True when something is now as it was not before.
    pub(crate) changed: bool,
    /// What a retry or a skip released, in words.
    pub(crate) released: Vec<String>,
    /// The host afterwards.
    pub(crate) status: HostStatus,
}

/// Why a request was not fulfilled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    /// For machines.
    pub(crate) code: RefusalCode,
    /// For people.
    pub(crate) text: String,
}

/// The kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RefusalCode {
    /// The line is no JSON object.
    NotJson,
    /// The line is longer than a request may be.
    TooLong,
    /// The stream ended within a line.
    HalfLine,
    /// No whole request came in time.
    TooSlow,
    /// Another version of this language.
    OtherVersion,
    /// No such request, or not with these fields.
    UnknownRequest,
    /// More clients than are served at once.
    TooManyClients,
    /// The client runs as another user.
    NotAllowed,
    /// The host loads its configuration or its plugin.
    Starting,
    /// The host is on its way out.
    Ending,
    /// Nothing is held there: not any more, or not yet.
    NotHeld,
    /// More than one batch is held, and the request names none.
    SeveralHeld,
    /// Nothing can be put aside: there is no dead-letter topic.
    NoDeadLetterTopic,
    /// A skip has to say why.
    NoReason,
    /// The host did not come to it in time.
    Busy,
    /// What another version of the host may say.
    #[serde(other)]
    Other,
}

impl Refusal {
    pub(crate) fn new(code: RefusalCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

/// A line says first which version of the language it is in.
#[derive(Serialize)]
struct Versioned<'w, T> {
    version: u64,
    #[serde(flatten)]
    what: &'w T,
}

/// JSON on one line, with its end.
fn one_line(value: &impl Serialize) -> String {
    // None of our types has a map with keys that are no text, which is all that can fail.
    let mut line = serde_json::to_string(value).unwrap_or_default();
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> RefusalCode {
        Request::parse(line.as_bytes()).unwrap_err().code
    }

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let all = [
            Request::Status {},
            Request::Pause {},
            Request::Resume {},
            Request::Retry {},
            Request::Skip { reason: "a test".to_owned(), at: None },
            Request::Stop { now: false },
            Request::Stop { now: true },
        ];
        for request in all {
            assert_eq!(Request::parse(request.line().trim_end().as_bytes()), Ok(request));
        }
        assert_eq!(Request::Status {}.line(), "{\"version\":1,\"request\":\"status\"}\n");
        let bare = Request::parse(br#" {"request":"stop","version":1} "#);
        assert_eq!(bare, Ok(Request::Stop { now: false }));
    }

    #[test]
    fn what_is_no_request_is_refused_by_kind() {
        for line in ["", "garbage", "\u{0}", "[1]", "1", "{\"version\":1", "{\"version\":1} {}"] {
            assert_eq!(code(line), RefusalCode::NotJson, "{line}");
        }
        assert_eq!(Request::parse(b"{\"version\":1,\"request\":\"\xff\"}").unwrap_err().code, RefusalCode::NotJson);
        for line in [r#"{"request":"status"}"#, r#"{"version":2,"request":"status"}"#, r#"{"version":"1"}"#] {
            assert_eq!(code(line), RefusalCode::OtherVersion, "{line}");
        }
        for line in [
            r#"{"version":1}"#,
            r#"{"version":1,"request":"dance"}"#,
            r#"{"version":1,"request":"pause","for":"1h"}"#,
            r#"{"version":1,"request":"skip"}"#,
            r#"{"version":1,"request":"stop","now":"yes"}"#,
            r#"{"version":1,"request":["stop"]}"#,
        ] {
            assert_eq!(code(line), RefusalCode::UnknownRequest, "{line}");
        }
    }

    /// Deep nesting must not overflow the stack of whoever reads it.
    #[test]
    fn a_line_of_brackets_is_refused() {
        assert_eq!(code(&"[".repeat(60_000)), RefusalCode::NotJson);
    }

    #[test]
    fn a_refusal_is_one_line_and_comes_back() {
        let refusal = Answer::from(Refusal::new(RefusalCode::TooLong, "two\nlines"));
        let line = refusal.line();
        assert_eq!(line.lines().count(), 1, "{line}");
        assert_eq!(serde_json::from_str::<Answer>(&line).unwrap(), refusal);
        let newer = r#"{"version":1,"error":{"code":"moody","text":"no"}}"#;
        let Answer::Refused { error } = serde_json::from_str(newer).unwrap() else { panic!("it is a refusal") };
        assert_eq!(error.code, RefusalCode::Other);
    }
}
