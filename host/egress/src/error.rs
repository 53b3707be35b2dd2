//! Why a request got no answer, or its answer no end. The cases are kept apart so that a guest can be told each in its own words.
//!
//! It decides nothing.

use std::io;

use http::Method;

use crate::connect::HEADERS_MAX;
use crate::denied::Denied;
use crate::destination::Problem;
use crate::header::HeaderRefused;

/// Why a request got no answer, or its answer no end.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// Nothing grants it. The text holds the line that would.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// It has no scheme or authority, or they are none.
    #[error("cannot send the request: {0}")]
    Target(#[from] Problem),
    /// Its path has characters that no path has, or does not begin with a slash, or is too long.
    #[error("cannot send the request: its path has to begin with a slash and consist of up to {0} characters of a URL")]
    Path(usize),
    /// `CONNECT`, `TRACE`, `TRACK`, and words that are too long for a method.
    #[error("cannot send the request: {0} is not a plugin's to use")]
    Method(Method),
    /// A header that is not a guest's to write.
    #[error("cannot send the request: {0}")]
    Header(#[from] HeaderRefused),
    /// More at once than there may be.
    #[error("{0} requests are under way already, and there may be no more at once")]
    TooManyAtOnce(usize),
    /// Its host's addresses cannot be learnt.
    #[error(transparent)]
    LookUp(#[from] LookUpFailed),
    /// None of the addresses takes a connection.
    #[error("cannot connect to {target}: {source}")]
    Connect {
        /// Where to.
        target: String,
        /// What the system says of the last address that was tried.
        source: io::Error,
    },
    /// No connection, or no end of the TLS handshake, within the time for that.
    #[error("cannot connect to {0} in time")]
    ConnectTimeout(String),
    /// The other side's certificate is not trusted, or is for another name.
    #[error("cannot trust {target}: {reason}")]
    Certificate {
        /// Where to.
        target: String,
        /// What OpenSSL says.
        reason: String,
    },
    /// TLS fails otherwise.
    #[error("cannot speak TLS with {target}: {reason}")]
    Tls {
        /// Where to.
        target: String,
        /// What OpenSSL says.
        reason: String,
    },
    /// A connection, but no answer within the time for that.
    #[error("the answer did not begin in time")]
    FirstByteTimeout,
    /// The time for the whole request is over.
    #[error("the answer did not end before the deadline")]
    Deadline,
    /// The request's body is larger than it may be.
    #[error("the request's body has more than {0} bytes")]
    RequestTooLarge(u64),
    /// The request's body is not as long as its `content-length` says.
    #[error("the request's body does not have the {0} bytes that its content-length promises")]
    RequestLength(u64),
    /// The guest's body broke off.
    #[error("the request's body broke off: {0}")]
    RequestBody(String),
    /// The answer's body is larger than it may be.
    #[error("the answer's body has more than {0} bytes")]
    ResponseTooLarge(u64),
    /// The answer's headers are larger or more than they may be, or its `content-length` is one that no body has: HTTP's reader calls
    /// all of that the same.
    #[error(
        "the answer's headers are too large: more than {0} bytes, more than {HEADERS_MAX} of them, or a content-length that no body has"
    )]
    ResponseHeadersTooLarge(u32),
    /// The connection ended before the answer did.
    #[error("the connection ended before the answer did")]
    Closed,
    /// What came is not HTTP/1.1.
    #[error("the answer is not HTTP: {0}")]
    Protocol(String),
    /// Something in the host. Its text goes to the log, and to no guest.
    #[error("the host cannot send requests: {0}")]
    Host(String),
}

/// The addresses of a name cannot be learnt.
#[derive(Debug, thiserror::Error)]
pub enum LookUpFailed {
    /// The resolver says so.
    #[error("cannot look {name} up: {source}")]
    Refused {
        /// The name.
        name: String,
        /// What it says.
        source: io::Error,
    },
    /// The resolver says nothing.
    #[error("cannot look {0} up in time")]
    Timeout(String),
    /// The name has none.
    #[error("{0} has no address")]
    NoAddress(String),
}
