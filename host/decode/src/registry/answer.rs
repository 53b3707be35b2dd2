//! What an answer of a registry means.
//!
//! It does not know how it was asked for. The distinction that matters is whose fault it is: a record may be given up only where the
//! registry itself, in its own words, says that there is nothing. Everything else could be a proxy, a wrong address or an outage.

use std::time::Duration;

use serde::Deserialize;

use super::site::Site;
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

    /// The same without our secrets.
    pub(super) fn blotted(self, site: &Site) -> Self {
        let blot = |reason: &Reason| Reason::new(site.blot(reason.as_str()));
        match self {
            Self::Missing(reason) => Self::Missing(blot(&reason)),
            Self::Unusable(reason) => Self::Unusable(blot(&reason)),
            Self::Unavailable { reason, refused, retry_after } => {
                Self::Unavailable { reason: blot(&reason), refused, retry_after }
            }
        }
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

/// How much of an answer is looked at for what it begins with: more than is shown, so that no secret is cut before it is blotted out.
const LOOKED_AT_BYTES: usize = 8 << 10;

/// An answer, as far as it was read.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    /// True: it says itself that it is JSON.
    pub(super) is_json: bool,
    pub(super) body: Vec<u8>,
}

/// The schema in an answer that has at most `bytes_max` bytes.
///
/// # Errors
/// Why there is none.
pub(super) fn read(site: &Site, answer: &Answer, bytes_max: usize) -> Result<Registered, Fault> {
    let Answer { status, retry_after, is_json, body } = answer;
    if body.len() > bytes_max && *status == 200 {
        return Err(match (is_json, body.first()) {
            (true, Some(b'{')) => Fault::unusable(format_args!("its schema has more than {bytes_max} bytes")),
            _ => no_registry(site, format_args!("more than {bytes_max} bytes"), body),
        });
    }
    // Where it is no schema, a page of any size says no more than its status does.
    let refusal: Option<Refusal> = serde_json::from_slice(body).ok();
    let said = refusal.as_ref().map_or_else(String::new, |refusal| {
        format!(": {} ({})", short(&site.blot(&refusal.message), MESSAGE_CHARS_MAX), refusal.error_code)
    });
    match (status, refusal) {
        (200, _) => serde_json::from_slice(body).map_err(|error| no_registry(site, error, body)),
        // Five digits are about a subject, a version, a schema; three are about the address, which is then a wrong one.
        (404, Some(refusal)) if (40_400..=40_499).contains(&refusal.error_code) => {
            Err(Fault::Missing(Reason::new(format_args!("the registry does not have it{said}"))))
        }
        (404, _) => Err(Fault::unavailable(format_args!(
            "what answers at {site} does not know schemas (404{said}); is the url of the registry right?"
        ))),
        (300..=399, _) => Err(Fault::unavailable(format_args!(
            "the registry at {site} redirects elsewhere ({status}), which is not followed; name the address that answers itself"
        ))),
        (401 | 403, _) => {
            let reason = format_args!("the registry at {site} refuses us ({status}{said}); correct its credentials");
            Err(Fault::Unavailable { reason: Reason::new(reason), refused: true, retry_after: None })
        }
        _ => {
            let reason = Reason::new(format_args!("the registry at {site} answers with status {status}{said}"));
            Err(Fault::Unavailable { reason, refused: false, retry_after: *retry_after })
        }
    }
}

/// Somebody else, as a proxy with a page of its own.
fn no_registry(site: &Site, found: impl std::fmt::Display, body: &[u8]) -> Fault {
    let looked_at = String::from_utf8_lossy(&body[..body.len().min(LOOKED_AT_BYTES)]);
    let begins = excerpt(site.blot(&looked_at).as_bytes());
    let found = site.blot(&found.to_string());
    Fault::unavailable(format_args!("what answers at {site} is no schema registry: {found}; it begins with {begins}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, retry_after: Option<Duration>, body: &str) -> Result<Registered, Fault> {
        let site = Site::new("http://h".to_owned(), None, None);
        read(&site, &Answer { status, retry_after, is_json: true, body: body.into() }, 100)
    }

    fn is_unavailable(status: u16, body: &str) -> bool {
        matches!(answer(status, None, body), Err(Fault::Unavailable { .. }))
    }

    #[test]
    fn a_schema_without_a_language_is_avro() {
        let registered = answer(200, None, r#"{"schema":"\"int\"","more":1}"#).unwrap();
        assert_eq!((registered.schema.as_str(), registered.language.as_str()), ("\"int\"", "AVRO"));
        assert!(registered.references.is_empty());
    }

    #[test]
    fn only_the_registry_itself_can_say_that_there_is_no_such_schema() {
        let own = r#"{"error_code":40403,"message":"Schema 7 not found"}"#;
        let Err(Fault::Missing(reason)) = answer(404, None, own) else { panic!("it is missing") };
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
        let Err(Fault::Unavailable { retry_after, .. }) = answer(503, Some(Duration::from_secs(7)), "") else {
            panic!("it is unavailable")
        };
        assert_eq!(retry_after, Some(Duration::from_secs(7)));
    }

    #[test]
    fn only_what_looks_like_a_registry_can_have_a_schema_that_is_too_large() {
        let large = format!("{{\"schema\":\"{}\"}}", "x".repeat(100));
        let Err(Fault::Unusable(reason)) = answer(200, None, &large) else { panic!("it cannot be used") };
        assert!(reason.as_str().contains("more than 100 bytes"), "{reason}");
        assert!(is_unavailable(200, &format!("<html>{large}")) && is_unavailable(500, &large));
        let site = Site::new("http://h".to_owned(), None, None);
        let page = Answer { status: 200, retry_after: None, is_json: false, body: large.into() };
        let Err(Fault::Unavailable { reason, .. }) = read(&site, &page, 100) else { panic!("it is somebody else") };
        assert!(reason.as_str().starts_with("what answers at http://h is no schema registry: more than"), "{reason}");
    }
}
