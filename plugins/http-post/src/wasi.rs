//! Sends a request by `wasi:http`, within its limit of time.
//!
//! It must not know what the request is for.

use std::time::{Duration, Instant};

use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme, http_error_code,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::StreamError;

use crate::fault::Fault;
use crate::request::{Answer, Request, SendError};

/// How much of an answer is read; results for ten thousand records fit, and what is longer is no answer to this plugin.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// How much is read or written at once.
const PIECE_BYTES: usize = 64 << 10;

const NO_ADDRESS: &str = "the setting url is no address of a request";

/// Sends a request and reads the answer.
pub(crate) fn send(request: &Request<'_>) -> Result<Answer, SendError> {
    exchange(request).map_err(|fault| fault.told(&request.target.authority))
}

fn exchange(request: &Request<'_>) -> Result<Answer, Fault> {
    let deadline = Deadline(Instant::now() + request.limit);
    let outgoing = outgoing(request)?;
    let body = outgoing.body().map_err(|()| Fault::Impossible("its body was taken"))?;
    let future = outgoing_handler::handle(outgoing, Some(options(request.limit)?)).map_err(fault)?;
    // A server may answer before it has read all, and hang up: what it says counts.
    let written = write(body, &request.body, &deadline);
    deadline.wait(&future.subscribe(), Fault::AnswerTimeout)?;
    let answer = future.get().and_then(Result::ok).ok_or(Fault::Impossible("its answer was taken"))?;
    let answer = read(&answer.map_err(fault)?, &deadline)?;
    match written {
        Err(error) if (200..300).contains(&answer.status) => Err(error),
        _ => Ok(answer),
    }
}

fn outgoing(request: &Request<'_>) -> Result<OutgoingRequest, Fault> {
    let headers: Vec<_> =
        request.headers.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect();
    let headers = Fields::from_list(&headers)
        .map_err(|_| Fault::Impossible("one of the settings header.NAME is not for a plugin to set"))?;
    let outgoing = OutgoingRequest::new(headers);
    let scheme = if request.target.https { Scheme::Https } else { Scheme::Http };
    let set = outgoing
        .set_method(&Method::Post)
        .and_then(|()| outgoing.set_scheme(Some(&scheme)))
        .and_then(|()| outgoing.set_authority(Some(&request.target.authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(&request.target.path)));
    set.map_err(|()| Fault::Impossible(NO_ADDRESS))?;
    Ok(outgoing)
}

/// The host has limits of its own besides; a shorter one counts.
fn options(limit: Duration) -> Result<RequestOptions, Fault> {
    let nanos = Some(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
    let options = RequestOptions::new();
    let set = options
        .set_connect_timeout(nanos)
        .and_then(|()| options.set_first_byte_timeout(nanos))
        .and_then(|()| options.set_between_bytes_timeout(nanos));
    set.map_err(|()| Fault::Impossible("the host takes no limits of time"))?;
    Ok(options)
}

fn write(body: OutgoingBody, bytes: &[u8], deadline: &Deadline) -> Result<(), Fault> {
    let broken = |error: StreamError| broken(&error, Fault::NotRead);
    let stream = body.write().map_err(|()| Fault::Impossible("its body was taken"))?;
    let mut rest = bytes;
    while !rest.is_empty() {
        deadline.wait(&stream.subscribe(), Fault::WriteTimeout)?;
        let room = usize::try_from(stream.check_write().map_err(broken)?).unwrap_or(usize::MAX);
        let (piece, later) = rest.split_at(room.min(PIECE_BYTES).min(rest.len()));
        stream.write(piece).map_err(broken)?;
        rest = later;
    }
    stream.flush().map_err(broken)?;
    deadline.wait(&stream.subscribe(), Fault::WriteTimeout)?;
    stream.check_write().map_err(broken)?;
    drop(stream);
    OutgoingBody::finish(body, None).map_err(fault)
}

fn read(response: &IncomingResponse, deadline: &Deadline) -> Result<Answer, Fault> {
    let status = response.status();
    let headers = response.headers();
    let header = |name: &str| headers.get(name).first().map(|value| String::from_utf8_lossy(value).into_owned());
    let (retry_after, location) = (header("retry-after"), header("location"));
    let incoming = response.consume().map_err(|()| Fault::Impossible("its answer's body was taken"))?;
    let stream = incoming.stream().map_err(|()| Fault::Impossible("its answer's body was taken"))?;
    let mut body = Vec::new();
    loop {
        deadline.wait(&stream.subscribe(), Fault::AnswerTimeout)?;
        match stream.read(PIECE_BYTES as u64) {
            Ok(piece) if piece.len() > ANSWER_BYTES_MAX - body.len() => {
                return Err(Fault::AnswerTooLarge(Some(ANSWER_BYTES_MAX as u64)));
            }
            Ok(piece) => body.extend_from_slice(&piece),
            Err(StreamError::Closed) => break,
            Err(error) => return Err(broken(&error, Fault::HungUp)),
        }
    }
    Ok(Answer { status, retry_after, location, body })
}

/// Why a stream broke: what the host says, or else what it usually is.
fn broken(error: &StreamError, usual: Fault) -> Fault {
    match error {
        StreamError::LastOperationFailed(error) => http_error_code(error).map_or(usual, fault),
        StreamError::Closed => usual,
    }
}

/// When a request has to be through.
struct Deadline(Instant);

impl Deadline {
    /// Waits for what it is told to, and no longer than it may.
    fn wait(&self, ready: &Pollable, late: Fault) -> Result<(), Fault> {
        let left = self.0.saturating_duration_since(Instant::now());
        let timer = subscribe_duration(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX));
        if poll(&[ready, &timer]).contains(&0) { Ok(()) } else { Err(late) }
    }
}

/// What a host's word is to us. Each is named, so that none hides what happened.
fn fault(code: ErrorCode) -> Fault {
    match code {
        ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited => Fault::Denied,
        ErrorCode::DnsError(_) | ErrorCode::DestinationNotFound => Fault::NoAddress,
        ErrorCode::DnsTimeout => Fault::AddressTimeout,
        ErrorCode::ConnectionRefused | ErrorCode::DestinationUnavailable | ErrorCode::DestinationIpUnroutable => {
            Fault::Refused
        }
        ErrorCode::ConnectionTimeout => Fault::ConnectTimeout,
        ErrorCode::TlsCertificateError => Fault::Certificate,
        ErrorCode::TlsProtocolError | ErrorCode::TlsAlertReceived(_) => Fault::Tls,
        ErrorCode::ConnectionLimitReached => Fault::TooManyAtOnce,
        ErrorCode::ConnectionWriteTimeout => Fault::WriteTimeout,
        ErrorCode::ConnectionReadTimeout | ErrorCode::HttpResponseTimeout => Fault::AnswerTimeout,
        ErrorCode::ConnectionTerminated | ErrorCode::HttpResponseIncomplete => Fault::HungUp,
        ErrorCode::HttpProtocolError
        | ErrorCode::HttpResponseTransferCoding(_)
        | ErrorCode::HttpResponseContentCoding(_)
        | ErrorCode::HttpUpgradeFailed => Fault::NotUnderstood,
        ErrorCode::HttpResponseBodySize(limit) => Fault::AnswerTooLarge(limit),
        ErrorCode::HttpResponseHeaderSectionSize(limit) | ErrorCode::HttpResponseTrailerSectionSize(limit) => {
            Fault::HeadTooLarge(limit)
        }
        ErrorCode::HttpResponseHeaderSize(_) | ErrorCode::HttpResponseTrailerSize(_) => Fault::HeadTooLarge(None),
        ErrorCode::HttpRequestBodySize(limit) => Fault::RequestTooLarge(limit),
        ErrorCode::HttpRequestHeaderSectionSize(_)
        | ErrorCode::HttpRequestHeaderSize(_)
        | ErrorCode::HttpRequestTrailerSectionSize(_)
        | ErrorCode::HttpRequestTrailerSize(_) => Fault::RequestHeadTooLarge,
        ErrorCode::HttpRequestUriInvalid => Fault::Impossible(NO_ADDRESS),
        ErrorCode::HttpRequestUriTooLong => Fault::Impossible("the setting url is too long"),
        ErrorCode::HttpRequestMethodInvalid => Fault::Impossible("the host lets no POST through"),
        ErrorCode::HttpRequestLengthRequired => Fault::Impossible("the host misses its length"),
        ErrorCode::LoopDetected => Fault::Host(Some("it would come back to where it is from".to_owned())),
        ErrorCode::ConfigurationError => Fault::Host(Some("it is not configured for that".to_owned())),
        ErrorCode::InternalError(why) => Fault::Host(why),
    }
}
