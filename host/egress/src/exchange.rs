//! One request and its answer: on a connection that is open already, or on a new one.
//!
//! It knows no policy; what it is handed may be sent.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use tokio::time::timeout_at;

use crate::body::{OutgoingBody, ResponseBody};
use crate::egress::{Egress, Shared};
use crate::error::SendError;
use crate::header;
use crate::limits::{InFlight, Limits, Place};
use crate::pool::{Connection, Lease};
use crate::request::{Prepared, prepare};

impl Egress {
    /// Sends a request and returns the answer when its headers are there; its body streams.
    ///
    /// Redirects are answers like any other: they are not followed. When the future or the body is dropped, the request is given up.
    ///
    /// # Errors
    ///
    /// Where no grant is for the request, before anything is looked up; where a bound is reached; and where the other side fails. See
    /// [`SendError`].
    pub async fn send<B>(
        &self,
        request: Request<B>,
        in_flight: &InFlight,
        limits: Limits,
        deadline: Instant,
    ) -> Result<Response<ResponseBody>, SendError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let prepared = prepare(&self.shared, request, &limits)?;
        let place = in_flight.enter().ok_or_else(|| SendError::TooManyAtOnce(in_flight.most()))?;
        let exchange = Exchange { shared: Arc::clone(&self.shared), limits, deadline, place };
        match self.shared.spawn(exchange.run(prepared)).await {
            Ok(answer) => answer,
            Err(error) => Err(SendError::Host(error.to_string())),
        }
    }
}

struct Exchange {
    shared: Arc<Shared>,
    limits: Limits,
    deadline: Instant,
    place: Place,
}

/// What became of a request on one connection.
enum Attempt {
    Answered(Response<hyper::body::Incoming>, Lease),
    /// The connection was closed before anything was sent; another may take the request.
    Unsent(Request<OutgoingBody>),
    Failed(SendError),
}

impl Exchange {
    async fn run(self, prepared: Prepared) -> Result<Response<ResponseBody>, SendError> {
        let Prepared { target, mut request, ended } = prepared;
        let lease = |connection: Connection| {
            Lease::new(connection, target.clone(), Arc::clone(&self.shared), self.deadline, ended.clone())
        };
        let (response, lease) = loop {
            let kept = self.shared.pool.take(&target);
            let is_new = kept.is_none();
            let connection = match kept {
                Some(connection) => connection,
                None => {
                    let by = self.deadline.min(Instant::now() + self.limits.connect);
                    self.shared.connect(&target, by).await.map_err(|error| self.at_deadline(error))?
                }
            };
            match self.attempt(lease(connection), request).await {
                Attempt::Answered(response, lease) => break (response, lease),
                Attempt::Unsent(_) if is_new => return Err(ended.error().unwrap_or(SendError::Closed)),
                Attempt::Unsent(unsent) => request = unsent,
                Attempt::Failed(error) => return Err(self.at_deadline(ended.error().unwrap_or(error))),
            }
        };
        let (mut parts, incoming) = response.into_parts();
        if parts.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(SendError::Protocol("it changes the protocol, which nobody asked for".to_owned()));
        }
        header::incoming(&mut parts.headers);
        parts.extensions.clear();
        let body = ResponseBody::new(incoming, self.limits.response_bytes, ended, lease, self.place)?;
        Ok(Response::from_parts(parts, body))
    }

    async fn attempt(&self, mut lease: Lease, request: Request<OutgoingBody>) -> Attempt {
        let Some(sender) = lease.sender() else { return Attempt::Unsent(request) };
        let first_byte_by = self.deadline.min(Instant::now() + self.limits.first_byte);
        let answer = sender.try_send_request(request);
        match timeout_at(first_byte_by.into(), answer).await {
            Ok(Ok(response)) => Attempt::Answered(response, lease),
            Ok(Err(mut error)) => match error.take_message() {
                Some(request) => Attempt::Unsent(request),
                None => Attempt::Failed(of_hyper(&error.into_error())),
            },
            Err(_) => Attempt::Failed(SendError::FirstByteTimeout),
        }
    }

    /// Whatever fails when the whole time is over fails for that.
    fn at_deadline(&self, error: SendError) -> SendError {
        let is_of_time = matches!(
            error,
            SendError::FirstByteTimeout | SendError::ConnectTimeout(_) | SendError::LookUp(_) | SendError::Closed
        );
        if is_of_time && Instant::now() >= self.deadline { SendError::Deadline } else { error }
    }
}

/// What a connection's error is to a guest.
pub(crate) fn of_hyper(error: &hyper::Error) -> SendError {
    // The question for it is compiled for servers only; a test holds its words.
    if error.is_parse() && error.to_string().contains("too large") {
        return SendError::ResponseHeadersTooLarge(header::HEADER_BYTES_MAX as u32);
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return SendError::Closed;
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.downcast_ref::<std::io::Error>().is_some_and(is_closed) {
            return SendError::Closed;
        }
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    SendError::Protocol(text)
}

fn is_closed(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof)
}
