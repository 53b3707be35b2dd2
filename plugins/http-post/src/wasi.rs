//! Sends a request by `wasi:http`, within its limit of time.
//!
//! It must not know what the request is for.

use std::time::{Duration, Instant};

use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::StreamError;

use crate::request::{Answer, Request, SendError};

/// How much of an answer is read; results for ten thousand records fit, and what is longer is no answer to this plugin.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// How much is read or written at once.
const PIECE_BYTES: usize = 64 << 10;

/// Sends a request and reads the answer.
pub(crate) fn send(request: &Request<'_>) -> Result<Answer, SendError> {
    let deadline = Deadline(Instant::now() + request.limit);
    let outgoing = outgoing(request)?;
    let body = outgoing.body().map_err(|()| lasting("the request's body was taken"))?;
    let future = outgoing_handler::handle(outgoing, Some(options(request.limit)?)).map_err(|code| trouble(&code))?;
    // A server may answer before it has read all, and hang up: what it says counts.
    let written = write(body, &request.body, &deadline);
    deadline.wait(&future.subscribe())?;
    let answer = future.get().and_then(Result::ok).ok_or_else(|| lasting("the answer was taken"))?;
    let response = answer.map_err(|code| trouble(&code))?;
    let answer = read(&response, &deadline)?;
    match written {
        Err(error) if (200..300).contains(&answer.status) => Err(error),
        _ => Ok(answer),
    }
}

fn outgoing(request: &Request<'_>) -> Result<OutgoingRequest, SendError> {
    let headers: Vec<_> =
        request.headers.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect();
    let headers =
        Fields::from_list(&headers).map_err(|error| lasting(&format!("a header is not to be had: {error:?}")))?;
    let outgoing = OutgoingRequest::new(headers);
    let scheme = if request.target.https { Scheme::Https } else { Scheme::Http };
    let set = outgoing
        .set_method(&Method::Post)
        .and_then(|()| outgoing.set_scheme(Some(&scheme)))
        .and_then(|()| outgoing.set_authority(Some(&request.target.authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(&request.target.path)));
    set.map_err(|()| lasting("the setting url is no address of a request"))?;
    Ok(outgoing)
}

/// The host has limits of its own besides; a shorter one counts.
fn options(limit: Duration) -> Result<RequestOptions, SendError> {
    let nanos = Some(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
    let options = RequestOptions::new();
    let set = options
        .set_connect_timeout(nanos)
        .and_then(|()| options.set_first_byte_timeout(nanos))
        .and_then(|()| options.set_between_bytes_timeout(nanos));
    set.map_err(|()| lasting("the host takes no limits of time"))?;
    Ok(options)
}

fn write(body: OutgoingBody, bytes: &[u8], deadline: &Deadline) -> Result<(), SendError> {
    let broken = |error: StreamError| passing(&format!("the server stopped reading the request: {error}"));
    let stream = body.write().map_err(|()| lasting("the request's body was taken"))?;
    let mut rest = bytes;
    while !rest.is_empty() {
        deadline.wait(&stream.subscribe())?;
        let room = usize::try_from(stream.check_write().map_err(broken)?).unwrap_or(usize::MAX);
        let (piece, later) = rest.split_at(room.min(PIECE_BYTES).min(rest.len()));
        stream.write(piece).map_err(broken)?;
        rest = later;
    }
    stream.flush().map_err(broken)?;
    deadline.wait(&stream.subscribe())?;
    stream.check_write().map_err(broken)?;
    drop(stream);
    OutgoingBody::finish(body, None).map_err(|code| trouble(&code))
}

fn read(response: &IncomingResponse, deadline: &Deadline) -> Result<Answer, SendError> {
    let status = response.status();
    let retry_after =
        response.headers().get("retry-after").first().map(|value| String::from_utf8_lossy(value).into_owned());
    let incoming = response.consume().map_err(|()| lasting("the answer's body was taken"))?;
    let stream = incoming.stream().map_err(|()| lasting("the answer's body was taken"))?;
    let mut body = Vec::new();
    loop {
        deadline.wait(&stream.subscribe())?;
        match stream.read(PIECE_BYTES as u64) {
            Ok(piece) => body.extend_from_slice(&piece),
            Err(StreamError::Closed) => break,
            Err(error) => return Err(passing(&format!("the answer broke off: {error}"))),
        }
        if body.len() > ANSWER_BYTES_MAX {
            return Err(lasting(&format!("the answer has more than {ANSWER_BYTES_MAX} bytes")));
        }
    }
    Ok(Answer { status, retry_after, body })
}

/// When a request has to be through.
struct Deadline(Instant);

impl Deadline {
    /// Waits for what it is told to, and no longer than it may.
    fn wait(&self, ready: &Pollable) -> Result<(), SendError> {
        let left = self.0.saturating_duration_since(Instant::now());
        let timer = subscribe_duration(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX));
        if poll(&[ready, &timer]).contains(&0) { Ok(()) } else { Err(passing("the server did not answer in time")) }
    }
}

fn trouble(code: &ErrorCode) -> SendError {
    match code {
        ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited => lasting(
            "the host does not let this plugin reach the server: name its URL in http of [plugin.grants], and its range in \
             addresses where that is a private one",
        ),
        ErrorCode::HttpRequestUriInvalid
        | ErrorCode::HttpRequestUriTooLong
        | ErrorCode::HttpRequestMethodInvalid
        | ErrorCode::HttpRequestBodySize(_)
        | ErrorCode::HttpRequestHeaderSize(_)
        | ErrorCode::HttpRequestHeaderSectionSize(_) => lasting(&format!("the request cannot be sent: {code:?}")),
        other => passing(&format!("the server was not reached: {other:?}")),
    }
}

fn passing(words: &str) -> SendError {
    SendError::Passing(words.to_owned())
}

fn lasting(words: &str) -> SendError {
    SendError::Lasting(words.to_owned())
}
