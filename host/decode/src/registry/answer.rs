//! What an answer of a registry means.
//!
//! It does not know how it was asked for. The distinction that matters is whose fault it is: a record may be given up only where the
//! registry itself, in its own words, says that there is nothing. Everything else could be a proxy, a wrong address or an outage.

use std::time::Duration;

use serde::Deserialize;

use crate::failure::{Reason, excerpt, short};

/// A schema as the registry keeps it.
#[derive(Debug, Deserialize)]
pub(super) struct Registered {
    /// Its text.
    pub(super) schema: String,
    /// What it is written in; the first of them all goes without saying.
    #[serde(rename = "schemaType", default = "avro")]
    pub(super) language: String,
    /// What it refers to.
    #[serde(default)]
    pub(super) references: Vec<Reference>,
}

fn avro() -> String {
    "AVRO".to_owned()
}

/// A schema that another refers to.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Reference {
    /// What the other calls it.
    pub(super) name: String,
    /// The subject that it was registered under.
    pub(super) subject: String,
    /// Its number there.
    pub(super) version: i64,
}

/// Why there is no schema.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The registry has none for this id.
    Missing(Reason),
    /// It has one that cannot be used.
    Unusable(Reason),
    /// It did not say.
    Unavailable {
        /// What it did instead.
        reason: Reason,
        /// True: it did not say because of who we are.
        refused: bool,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
}

impl Fault {
    /// A registry that did not say.
    pub(super) fn unavailable(reason: impl std::fmt::Display) -> Self {
        Self::Unavailable { reason: Reason::new(reason), refused: false, retry_after: None }
    }

    /// A schema that cannot be used.
    pub(super) fn unusable(reason: impl std::fmt::Display) -> Self {
        Self::Unusable(Reason::new(reason))
    }
}

/// An error in the registry's own words.
#[derive(Deserialize)]
struct Refusal {
    error_code: i64,
    #[serde(default)]
    message: String,
}

/// How much of a message is repeated.
const MESSAGE_CHARS_MAX: usize = 200;

/// The schema in an answer.
///
/// # Errors
/// Why there is none.
pub(super) fn read(status: u16, retry_after: Option<Duration>, body: &[u8]) -> Result<Registered, Fault> {
    let refusal: Option<Refusal> = serde_json::from_slice(body).ok();
    let said = refusal.as_ref().map_or_else(String::new, |refusal| {
        format!(": {} ({})", short(&refusal.message, MESSAGE_CHARS_MAX), refusal.error_code)
    });
    match (status, refusal) {
        (200, _) => serde_json::from_slice(body).map_err(|error| {
            let begins = excerpt(body);
            Fault::unavailable(format_args!("what answers is no schema registry: {error}; it begins with {begins}"))
        }),
        // Five digits are about a subject, a version, a schema; three are about the address, which is then a wrong one.
        (404, Some(refusal)) if (40_400..=40_499).contains(&refusal.error_code) => {
            Err(Fault::Missing(Reason::new(format_args!("the registry does not have it{said}"))))
        }
        (404, _) => Err(Fault::unavailable(format_args!(
            "what answers does not know schemas (404{said}); is the url of the registry right?"
        ))),
        (300..=399, _) => Err(Fault::unavailable(format_args!(
            "the registry redirects elsewhere ({status}), which is not followed; name the address that answers itself"
        ))),
        (401 | 403, _) => {
            let reason = Reason::new(format_args!("the registry refuses us ({status}{said}); correct its credentials"));
            Err(Fault::Unavailable { reason, refused: true, retry_after: None })
        }
        _ => {
            let reason = Reason::new(format_args!("the registry answers with status {status}{said}"));
            Err(Fault::Unavailable { reason, refused: false, retry_after })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_unavailable(status: u16, body: &str) -> bool {
        matches!(read(status, None, body.as_bytes()), Err(Fault::Unavailable { .. }))
    }

    #[test]
    fn a_schema_without_a_language_is_avro() {
        let registered = read(200, None, br#"{"schema":"\"int\"","more":1}"#).unwrap();
        assert_eq!((registered.schema.as_str(), registered.language.as_str()), ("\"int\"", "AVRO"));
        assert!(registered.references.is_empty());
    }

    #[test]
    fn only_the_registry_itself_can_say_that_there_is_no_such_schema() {
        let own = r#"{"error_code":40403,"message":"Schema 7 not found"}"#;
        let Err(Fault::Missing(reason)) = read(404, None, own.as_bytes()) else { panic!("it is missing") };
        assert!(reason.as_str().contains("Schema 7 not found (40403)"), "{reason}");
        assert!(is_unavailable(404, r#"{"error_code":404,"message":"HTTP 404 Not Found"}"#));
        assert!(is_unavailable(404, "<html>no such page</html>"));
        assert!(is_unavailable(404, ""));
        assert!(is_unavailable(200, own));
    }

    #[test]
    fn whatever_else_it_answers_is_not_the_fault_of_a_record() {
        for status in [200, 204, 301, 302, 307, 400, 401, 403, 405, 408, 418, 422, 429, 500, 502, 503, 504] {
            assert!(is_unavailable(status, "<html>"), "{status}");
            assert!(is_unavailable(status, "{}"), "{status}");
        }
        let Err(Fault::Unavailable { retry_after, .. }) = read(503, Some(Duration::from_secs(7)), b"") else {
            panic!("it is unavailable")
        };
        assert_eq!(retry_after, Some(Duration::from_secs(7)));
    }
}
