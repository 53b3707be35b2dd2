//! HTTP requests of guests: what `wasi:http` hands over is sent by `gristmill-egress`, and wasmtime's own sender, which asks nobody
//! where it may go, is not built.
//!
//! Here its errors become those of `wasi:http`. Where a request may go is decided there.

use std::sync::Arc;
use std::time::Instant;

use gristmill_egress::{Egress, InFlight, Limits, LookUpFailed, SendError};
use http::uri::Scheme;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::BodyExt as _;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::clock::CallClock;
use crate::denials::Denials;
use crate::grants::Closed;
use crate::words::shortened;

/// The header by which a request is found again in the traces of who gets it.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// How much of a method is told. Those that have a name are shorter.
const METHOD_SHOWN_MAX: usize = 32;

/// What to do where nothing grants a request. A plugin that imports `wasi:http` is not even loaded then.
const NO_HTTP: &str = "add plugin.grants.http = [\"https://api.example.com\"], with the origin that is meant";

/// What the requests of one instance hang on.
pub(crate) struct Requests {
    egress: Result<Egress, Closed>,
    in_flight: InFlight,
    denials: Arc<Denials>,
    /// That of the hand-over, for the whole instance: what sends sees nothing of the guest but this.
    clock: Arc<CallClock>,
}

impl Requests {
    /// For a new instance, which has sent nothing.
    pub(crate) fn new(egress: Result<Egress, Closed>, denials: Arc<Denials>, clock: &Arc<CallClock>) -> Self {
        Self { egress, in_flight: InFlight::default(), denials, clock: Arc::clone(clock) }
    }

    /// The time of the hand-over.
    pub(crate) fn clock(&self) -> &CallClock {
        &self.clock
    }

    /// Says that another hand-over has begun.
    pub(crate) fn begin(&mut self, clock: &Arc<CallClock>) {
        self.clock = Arc::clone(clock);
    }
}

type Finished = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Sent = Box<dyn Future<Output = Result<(Response<WasiBody>, Finished), Error>> + Send>;

impl WasiHttpHooks for Requests {
    fn send_request(&mut self, mut request: Request<WasiBody>, options: Option<RequestOptions>, _: Finished) -> Sent {
        let egress = match &self.egress {
            Ok(egress) => egress.clone(),
            Err(closed) => {
                self.denials.note(&closed.told("an HTTP request", "HTTP", NO_HTTP));
                return Box::new(async { Err(Error::HttpRequestDenied) });
            }
        };
        let (in_flight, denials) = (self.in_flight.clone(), Arc::clone(&self.denials));
        let deadline = Instant::now() + self.clock.time_left();
        if !request.headers().contains_key(&TRACEPARENT)
            && let Some(parent) = trace_parent()
        {
            request.headers_mut().insert(TRACEPARENT, parent);
        }
        let (usual, wished) = (Limits::default(), options.unwrap_or_default());
        let limits = Limits {
            connect: wished.connect_timeout.map_or(usual.connect, |wish| wish.min(usual.connect)),
            first_byte: wished.first_byte_timeout.map_or(usual.first_byte, |wish| wish.min(usual.first_byte)),
            ..usual
        };
        Box::new(async move {
            match egress.send(request, &in_flight, limits, deadline).await {
                Ok(response) => {
                    let response = response.map(|body| body.map_err(|error| as_wasi(&error)).boxed_unsync());
                    Ok((response, Box::new(async { Ok(()) }) as Finished))
                }
                Err(error) => {
                    tell(&error, &denials);
                    Err(as_wasi(&error))
                }
            }
        })
    }

    fn is_supported_scheme(&mut self, scheme: &Scheme) -> bool {
        let supported = [Scheme::HTTP, Scheme::HTTPS].contains(scheme);
        if !supported {
            self.denials
                .note(&format!("a request by {scheme}: plugins request by http and https; nothing grants another"));
        }
        supported
    }

    // What is sent gets its host from the address that was judged.
    fn set_host_header(&mut self) -> bool {
        false
    }

    // Its words would be log lines that a guest can have as many of as it likes.
    fn p2_error_from_hyper(&mut self, _: &hyper::Error) -> ErrorCode {
        ErrorCode::HttpProtocolError
    }
}

/// A trace that begins here, by W3C's rules. Nothing of it is recorded by the host, and it says so. `None`: no chance to be had.
fn trace_parent() -> Option<HeaderValue> {
    let mut chance = [0; 24];
    let length = rustix::rand::getrandom(&mut chance, rustix::rand::GetRandomFlags::NONBLOCK).ok()?;
    if length < chance.len() {
        return None;
    }
    let (trace, span) = chance.split_at(16);
    let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    HeaderValue::from_str(&format!("00-{}-{}-00", hex(trace), hex(span))).ok()
}

/// Tells what is for the operator's eyes.
fn tell(error: &SendError, denials: &Denials) {
    match error {
        SendError::Denied(denied) => denials.note(&denied.to_string()),
        SendError::Host(_) => denials.note(&error.to_string()),
        SendError::Method(method) => {
            let method = shortened(method.as_str(), METHOD_SHOWN_MAX);
            denials.note(&format!("a request with the method {method}: it is no plugin's to use; nothing grants it"));
        }
        // What else fails is the guest's own affair, or that of the other side.
        SendError::Target(_)
        | SendError::Path(_)
        | SendError::Header(_)
        | SendError::TooManyAtOnce(_)
        | SendError::LookUp(_)
        | SendError::Connect { .. }
        | SendError::ConnectTimeout(_)
        | SendError::Certificate { .. }
        | SendError::Tls { .. }
        | SendError::FirstByteTimeout
        | SendError::Deadline
        | SendError::RequestTooLarge(_)
        | SendError::RequestLength(_)
        | SendError::RequestBody(_)
        | SendError::ResponseTooLarge(_)
        | SendError::ResponseHeadersTooLarge(_)
        | SendError::Closed
        | SendError::Protocol(_) => {}
    }
}

/// The same error as a guest hears it. What the other side or the guest itself did is told in words; of the host it learns nothing.
fn as_wasi(error: &SendError) -> Error {
    match error {
        SendError::Denied(_) => Error::HttpRequestDenied,
        SendError::Target(_) | SendError::Path(_) => Error::HttpRequestUriInvalid,
        SendError::Method(_) => Error::HttpRequestMethodInvalid,
        SendError::TooManyAtOnce(_) => Error::ConnectionLimitReached,
        SendError::LookUp(LookUpFailed::Timeout(_)) => Error::DnsTimeout,
        SendError::LookUp(_) => Error::DnsError { rcode: None, info_code: None },
        SendError::Connect { .. } => Error::ConnectionRefused,
        SendError::ConnectTimeout(_) => Error::ConnectionTimeout,
        SendError::Certificate { .. } => Error::TlsCertificateError,
        SendError::Tls { .. } => Error::TlsProtocolError,
        SendError::FirstByteTimeout => Error::ConnectionReadTimeout,
        SendError::Deadline => Error::HttpResponseTimeout,
        SendError::RequestTooLarge(limit) => Error::HttpRequestBodySize(Some(*limit)),
        SendError::ResponseTooLarge(limit) => Error::HttpResponseBodySize(Some(*limit)),
        SendError::ResponseHeadersTooLarge(limit) => Error::HttpResponseHeaderSectionSize(Some(*limit)),
        SendError::Closed => Error::ConnectionTerminated,
        SendError::Protocol(_) => Error::HttpProtocolError,
        SendError::Header(_) | SendError::RequestLength(_) | SendError::RequestBody(_) => {
            Error::InternalError(Some(error.to_string()))
        }
        SendError::Host(_) => Error::InternalError(None),
    }
}
