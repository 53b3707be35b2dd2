//! Headers: which ones belong to the host, and what a request's set of them has to be.
//!
//! It knows no connection.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Headers that are about the connection or the length of the message, which the host writes itself. A guest that could write them could
/// make the other side see two requests in one.
const OF_THE_CONNECTION: [&str; 10] = [
    "host",
    "connection",
    "transfer-encoding",
    "content-length",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "keep-alive",
    "http2-settings",
];

/// Headers that say who asks. The host adds them where a grant says so; a guest does not hold credentials.
const CREDENTIALS: [&str; 3] = ["authorization", "cookie", "cookie2"];

/// The most bytes that the names and values of a request's or an answer's headers have together.
pub(crate) const HEADER_BYTES_MAX: usize = 32 * 1024;

fn is_of_the_connection(name: &HeaderName) -> bool {
    OF_THE_CONNECTION.contains(&name.as_str()) || name.as_str().starts_with("proxy-")
}

/// Reads a header that a grant adds. Its value is marked as sensitive.
pub(crate) fn check_injected(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), HeaderProblem> {
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| HeaderProblem::NoName)?;
    if is_of_the_connection(&name) {
        return Err(HeaderProblem::OfTheConnection);
    }
    let mut value = HeaderValue::from_str(value).map_err(|_| HeaderProblem::NoValue)?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// What is wrong with a header that a grant adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderProblem {
    /// Not a name.
    #[error("it is no name of a header")]
    NoName,
    /// Not a value; it is not shown.
    #[error("its value has characters that no header has, such as a line break")]
    NoValue,
    /// Written by the host.
    #[error("the host writes it itself")]
    OfTheConnection,
    /// Once before.
    #[error("it is there twice")]
    Twice,
}

/// Makes the headers of a request out of a guest's and those that the grant adds. What belongs to the host is refused, never dropped, so
/// that a guest does not believe it was sent. `content-length` is taken out: it is only ever a promise, which the body has to keep.
pub(crate) fn outgoing(
    mut guest: HeaderMap,
    injected: &[(HeaderName, HeaderValue)],
) -> Result<(HeaderMap, Option<u64>), HeaderRefused> {
    let promised = promised_length(&guest)?;
    guest.remove(header::CONTENT_LENGTH);
    for name in guest.keys() {
        if is_of_the_connection(name) {
            return Err(HeaderRefused::OfTheConnection(name.clone()));
        }
        if CREDENTIALS.contains(&name.as_str()) || injected.iter().any(|(injected, _)| injected == name) {
            return Err(HeaderRefused::Credential(name.clone()));
        }
    }
    let bytes: usize = guest.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > HEADER_BYTES_MAX {
        return Err(HeaderRefused::TooLarge);
    }
    guest.extend(injected.iter().cloned());
    Ok((guest, promised))
}

/// The length that the guest's header promises.
fn promised_length(guest: &HeaderMap) -> Result<Option<u64>, HeaderRefused> {
    let mut values = guest.get_all(header::CONTENT_LENGTH).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let is_number = !value.is_empty() && value.as_bytes().iter().all(u8::is_ascii_digit);
    let length = value.to_str().ok().and_then(|text| text.parse().ok());
    match (is_number, length, values.next()) {
        (true, Some(length), None) => Ok(Some(length)),
        _ => Err(HeaderRefused::Length),
    }
}

/// Takes out of an answer what was about the connection, which is the host's.
pub(crate) fn incoming(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
        .filter(|name| *name != header::CONTENT_LENGTH)
        .collect();
    let of_the_connection: Vec<HeaderName> =
        headers.keys().filter(|name| is_of_the_connection(name)).cloned().collect();
    for name in of_the_connection.iter().chain(&named).filter(|name| **name != header::CONTENT_LENGTH) {
        headers.remove(name);
    }
}

/// A guest's header that is not sent, and its request with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderRefused {
    /// The host's own.
    #[error("the header {0} is written by the host and not by a plugin")]
    OfTheConnection(HeaderName),
    /// The operator's to give.
    #[error(
        "the header {0} holds a credential, which a grant adds and no plugin: plugin.grants.http = \
         [{{ url = \"…\", headers = {{ {0} = \"${{SECRET}}\" }} }}]"
    )]
    Credential(HeaderName),
    /// Neither one nor a number.
    #[error("content-length is not one number")]
    Length,
    /// More than are sent.
    #[error("its headers have more than {HEADER_BYTES_MAX} bytes")]
    TooLarge,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    const HEADERS: &str = include_str!("../vectors/headers.txt");

    /// What becomes of one header of a guest.
    fn verdict(line: &str) -> String {
        let (name, value) = line.split_once(": ").unwrap();
        let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) else {
            return "no header".to_owned();
        };
        match outgoing(HeaderMap::from_iter([(name, value)]), &[]) {
            Ok((headers, None)) => headers.keys().map(HeaderName::as_str).collect(),
            Ok((headers, Some(length))) => {
                format!("promises {length}{}", if headers.is_empty() { "" } else { " and more" })
            }
            Err(HeaderRefused::OfTheConnection(_)) => "connection".to_owned(),
            Err(HeaderRefused::Credential(_)) => "credential".to_owned(),
            Err(HeaderRefused::Length) => "length".to_owned(),
            Err(HeaderRefused::TooLarge) => "too large".to_owned(),
        }
    }

    #[test]
    fn every_header_of_a_guest_is_sent_or_refused() {
        vectors::check(HEADERS, verdict);
    }

    #[test]
    fn a_header_that_the_grant_adds_is_refused_from_a_guest() {
        let injected = [check_injected("x-api-key", "secret").unwrap()];
        let guest = HeaderMap::from_iter([(HeaderName::from_static("x-api-key"), HeaderValue::from_static("mine"))]);
        assert_eq!(outgoing(guest, &injected), Err(HeaderRefused::Credential(HeaderName::from_static("x-api-key"))));
        let (headers, _) = outgoing(HeaderMap::new(), &injected).unwrap();
        assert_eq!(headers["x-api-key"], "secret");
        assert!(headers["x-api-key"].is_sensitive());
    }

    #[test]
    fn two_lengths_are_refused_also_where_they_agree() {
        let mut guest = HeaderMap::new();
        guest.append(header::CONTENT_LENGTH, HeaderValue::from_static("5"));
        guest.append(header::CONTENT_LENGTH, HeaderValue::from_static("5"));
        assert_eq!(outgoing(guest, &[]), Err(HeaderRefused::Length));
    }

    #[test]
    fn more_bytes_of_headers_than_are_sent_are_refused() {
        let large = HeaderValue::from_bytes(&[b'x'; HEADER_BYTES_MAX]).unwrap();
        assert_eq!(outgoing(HeaderMap::from_iter([(header::ACCEPT, large)]), &[]), Err(HeaderRefused::TooLarge));
        let fits = HeaderValue::from_bytes(&[b'x'; HEADER_BYTES_MAX - 6]).unwrap();
        assert!(outgoing(HeaderMap::from_iter([(header::ACCEPT, fits)]), &[]).is_ok());
    }

    #[test]
    fn what_is_about_the_connection_is_taken_out_of_an_answer() {
        let headers = [
            ("connection", "close, x-hop, content-length"),
            ("keep-alive", "timeout=5"),
            ("proxy-authenticate", "Basic"),
            ("transfer-encoding", "chunked"),
            ("x-hop", "1"),
            ("content-length", "5"),
            ("retry-after", "3"),
            ("set-cookie", "a=b"),
        ];
        let mut headers: HeaderMap = headers
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .into_iter()
            .collect();
        incoming(&mut headers);
        let mut left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["content-length", "retry-after", "set-cookie"]);
    }
}
