//! One request to a registry: no redirects, no proxies, so many bytes, so much time.
//!
//! It does not know what the answers are needed for, and decides nothing about asking again.

use std::fmt::{self, Write as _};
use std::io::{self, Read as _};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use ureq::http::{HeaderMap, Uri};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector, TcpConnector};
use ureq::{Agent, Error};

use super::answer::{self, Answer, Fault, Registered};
use super::settings::{RegistryAuth, RegistryError, RegistrySettings};
use super::site::Site;
use super::tls::TlsConnector;
use crate::wire::SchemaId;

/// What we accept, in the order of preference.
const ACCEPT: &str = "application/vnd.schemaregistry.v1+json, application/json";

/// How many bytes the head of an answer may have.
const HEAD_BYTES_MAX: usize = 32 << 10;

/// A client of one registry.
pub(super) struct Client {
    agent: Agent,
    site: Site,
    authorization: Option<HeaderValue>,
    request_time_max: Duration,
    answer_bytes_max: usize,
}

impl Client {
    pub(super) fn new(settings: &RegistrySettings) -> Result<Self, RegistryError> {
        let base = base(&settings.url)?;
        let authorization = settings.auth.as_ref().map(authorization).transpose()?;
        let header = authorization.as_ref().and_then(|header| header.to_str().ok());
        let site = Site::new(base, settings.auth.as_ref(), header);
        let connector = ().chain(TcpConnector::default()).chain(TlsConnector::new(settings.ca_file.as_deref())?);
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(concat!("gristmill/", env!("CARGO_PKG_VERSION")))
            .accept(ACCEPT)
            .max_response_header_size(HEAD_BYTES_MAX)
            .build();
        Ok(Self {
            agent: Agent::with_parts(config, connector, DefaultResolver::default()),
            site,
            authorization,
            request_time_max: settings.request_time_max,
            answer_bytes_max: settings.answer_bytes_max,
        })
    }

    /// The schema with that id.
    pub(super) fn schema(&self, id: SchemaId, time_max: Duration) -> Result<Registered, Fault> {
        self.fetch(&format!("/schemas/ids/{}", id.0), time_max)
    }

    /// A version of a subject.
    pub(super) fn version(&self, subject: &str, version: i64, time_max: Duration) -> Result<Registered, Fault> {
        self.fetch(&format!("/subjects/{}/versions/{version}", segment(subject)), time_max)
    }

    /// Where it is.
    pub(super) fn site(&self) -> &Site {
        &self.site
    }

    fn fetch(&self, path: &str, time_max: Duration) -> Result<Registered, Fault> {
        let time_max = time_max.min(self.request_time_max);
        let answer = self.answer(path, time_max).map_err(|error| self.not_reached(&error, time_max))?;
        answer::read(&self.site, &answer, self.answer_bytes_max)
    }

    fn answer(&self, path: &str, time_max: Duration) -> Result<Answer, Error> {
        let mut request = self.agent.get(format!("{}{path}", self.site.url()));
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let mut response = request.config().timeout_global(Some(time_max)).build().call()?;
        let (retry_after, is_json) = (retry_after(response.headers()), is_json(response.headers()));
        let status = response.status().as_u16();
        // One byte more, so that a text of exactly the largest size is not taken for a larger one.
        let limit = self.answer_bytes_max as u64 + 1;
        let mut body = Vec::new();
        response.body_mut().as_reader().take(limit).read_to_end(&mut body)?;
        Ok(Answer { status, retry_after, is_json, body })
    }

    fn not_reached(&self, error: &Error, time_max: Duration) -> Fault {
        let site = &self.site;
        let found = match error {
            Error::Timeout(_) if time_max == self.request_time_max => {
                return Fault::unavailable(format_args!(
                    "the registry at {site} did not answer within {time_max:?} (schema_registry.timeout)"
                ));
            }
            Error::Timeout(_) => {
                return Fault::unavailable(format_args!(
                    "the registry at {site} took too long for a schema with all that it refers to"
                ));
            }
            Error::HostNotFound => "its name is not known".to_owned(),
            Error::Io(error) => words(error),
            error => error.to_string(),
        };
        Fault::unavailable(format_args!("the registry at {site} cannot be reached: {}", self.site.blot(&found)))
    }
}

/// The address and what else may be told of a client: not who we are.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("site", &self.site).finish_non_exhaustive()
    }
}

/// What the system says about a connection, in words where it has some for it.
fn words(error: &io::Error) -> String {
    use io::ErrorKind as Kind;
    match error.kind() {
        kind @ (Kind::ConnectionRefused
        | Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::HostUnreachable
        | Kind::NetworkUnreachable
        | Kind::BrokenPipe
        | Kind::UnexpectedEof) => kind.to_string(),
        _ => error.to_string(),
    }
}

/// True where the answer says that it is JSON, of whatever kind.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.to_ascii_lowercase().contains("json"))
}

/// The address without a slash at the end.
pub(super) fn base(url: &str) -> Result<String, RegistryError> {
    let uri: Uri = url.parse().map_err(|_| RegistryError::Url("is no address"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(RegistryError::Url("begins neither with http:// nor with https://"));
    }
    if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
        return Err(RegistryError::Url("holds a user or password, which are set beside it"));
    }
    if uri.query().is_some() || url.contains('#') {
        return Err(RegistryError::Url("has something behind its path"));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

fn authorization(auth: &RegistryAuth) -> Result<HeaderValue, RegistryError> {
    let text = match auth {
        RegistryAuth::Basic { user, password } => {
            format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{}", password.reveal())))
        }
        RegistryAuth::Bearer(token) => format!("Bearer {}", token.reveal()),
    };
    let mut value = HeaderValue::from_str(&text).map_err(|_| RegistryError::Credentials)?;
    value.set_sensitive(true);
    Ok(value)
}

/// How long we are asked to wait, where it is said in seconds. Where it is a date, our own pauses serve as well.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// A name as one segment of a path. A subject may hold slashes, dots and anything else.
fn segment(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~') || (byte == b'.' && name.len() > 2) {
            out.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::settings::Secret;
    use super::*;

    #[test]
    fn an_address_is_taken_as_far_as_its_path() {
        assert_eq!(base("http://h:8081").unwrap(), "http://h:8081");
        assert_eq!(base("https://h/apis/ccompat/v7/").unwrap(), "https://h/apis/ccompat/v7");
        assert_eq!(base("http://[::1]:8081/").unwrap(), "http://[::1]:8081");
    }

    #[test]
    fn what_is_no_address_is_refused_and_not_repeated() {
        for url in
            ["", "h:8081", "/x", "ftp://h", "http://", "http://u:secret@h", "http://h?token=secret", "http://h/#a"]
        {
            let error = base(url).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{url}: {error}");
        }
    }

    #[test]
    fn a_subject_stays_one_segment() {
        assert_eq!(segment("orders-value"), "orders-value");
        assert_eq!(segment("a/b c?é"), "a%2Fb%20c%3F%C3%A9");
        assert_eq!(segment(".."), "%2E%2E");
        assert_eq!(segment("com.e.Order"), "com.e.Order");
    }

    #[test]
    fn secrets_do_not_print() {
        let auth = RegistryAuth::Basic { user: "u".to_owned(), password: Secret::new("secret") };
        let settings = RegistrySettings { auth: Some(auth), ..RegistrySettings::new("http://h") };
        let client = Client::new(&settings).unwrap();
        let printed = format!("{settings:?} {client:?} {:?} {}", client.authorization, Secret::new("secret"));
        assert!(!printed.contains("secret") && !printed.contains("c2VjcmV0"), "{printed}");
    }

    #[test]
    fn credentials_that_break_the_header_are_refused() {
        assert!(authorization(&RegistryAuth::Bearer(Secret::new("a\r\nb: c"))).is_err());
        let basic = authorization(&RegistryAuth::Basic { user: "a".to_owned(), password: Secret::new("b\nc") });
        assert_eq!(basic.unwrap(), "Basic YTpiCmM=");
    }
}
