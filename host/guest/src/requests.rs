//! HTTP requests of guests: what `wasi:http` hands over is sent by `gristmill-egress`, and wasmtime's own sender, which asks nobody
//! where it may go, is not built.
//!
//! Here its errors become those of `wasi:http`. Where a request may go is decided there.

use std::sync::Arc;
use std::time::Instant;

use gristmill_egress::{Egress, SendError, Slots};
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::BodyExt;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::clock::CallClock;
use crate::denials::Denials;

/// The header by which a request is found again in the traces of who gets it.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// What the requests of one instance hang on.
pub(crate) struct Requests {
    /// `None`: nothing is granted.
    egress: Option<Egress>,
    slots: Slots,
    denials: Arc<Denials>,
    clock: Arc<CallClock>,
}

impl Requests {
    /// For a new instance, which has sent nothing.
    pub(crate) fn new(egress: Option<Egress>, denials: Arc<Denials>, clock: &Arc<CallClock>) -> Self {
        Self { egress, slots: Slots::default(), denials, clock: Arc::clone(clock) }
    }

    /// Says that another hand-over has begun.
    pub(crate) fn begin(&mut self, clock: &Arc<CallClock>) {
        self.clock = Arc::clone(clock);
    }
}

type Ended = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Sent = Box<dyn Future<Output = Result<(Response<WasiBody>, Ended), Error>> + Send>;

impl WasiHttpHooks for Requests {
    fn send_request(&mut self, mut request: Request<WasiBody>, options: Option<RequestOptions>, _: Ended) -> Sent {
        let Some(egress) = self.egress.clone() else { return Box::new(async { Err(Error::HttpRequestDenied) }) };
        let (slots, denials) = (self.slots.clone(), Arc::clone(&self.denials));
        let deadline = Instant::now() + self.clock.time_left();
        if !request.headers().contains_key(&TRACEPARENT)
            && let Some(parent) = trace_parent()
        {
            request.headers_mut().insert(TRACEPARENT, parent);
        }
        let options = options.unwrap_or_default();
        let waits = gristmill_egress::Waits {
            connect: options.connect_timeout,
            first_byte: options.first_byte_timeout,
            between_bytes: options.between_bytes_timeout,
        };
        Box::new(async move {
            match egress.send(request.map(BodyExt::boxed_unsync), deadline, waits, &slots).await {
                Ok(response) => {
                    let body = |body: gristmill_egress::ResponseBody| body.map_err(|error| as_wasi(&error)).boxed_unsync();
                    Ok((response.map(body), Box::new(async { Ok(()) }) as Ended))
                }
                Err(error) => {
                    if let SendError::Denied(denied) = &error {
                        denials.note(&denied.to_string());
                    }
                    Err(as_wasi(&error))
                }
            }
        })
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

/// The same error as a guest hears it.
fn as_wasi(error: &SendError) -> Error {
    todo!()
}
