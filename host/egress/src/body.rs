//! Bodies on their way out and in: counted while they stream, ended by an error and never by a cut.
//!
//! It knows no connection but the lease that an answer's body holds.

use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;

use crate::error::SendError;
use crate::exchange::of_hyper;
use crate::header;
use crate::limits::Place;
use crate::pool::Lease;

/// A guest's body, whatever it is, in our counting.
pub(crate) type OutgoingBody = UnsyncBoxBody<Bytes, Why>;

/// What ended a request before its time. Whoever notices says it here first, and then ends it: the connection's own error only says that
/// it ended.
#[derive(Clone, Default)]
pub(crate) struct Ended(Arc<OnceLock<Why>>);

/// The reasons for that.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{self:?}")]
pub(crate) enum Why {
    Deadline,
    RequestTooLarge(u64),
    RequestLength(u64),
    RequestBody(String),
}

impl Ended {
    /// The first reason stays.
    pub(crate) fn set(&self, why: Why) {
        let _ = self.0.set(why);
    }

    pub(crate) fn error(&self) -> Option<SendError> {
        self.0.get().map(|why| match why {
            Why::Deadline => SendError::Deadline,
            Why::RequestTooLarge(limit) => SendError::RequestTooLarge(*limit),
            Why::RequestLength(promised) => SendError::RequestLength(*promised),
            Why::RequestBody(reason) => SendError::RequestBody(reason.clone()),
        })
    }
}

/// Counts what a guest sends.
struct Counted<B> {
    body: Pin<Box<B>>,
    sent: u64,
    limit: u64,
    promised: Option<u64>,
    /// The piece with which a promised length is reached. It waits for the body's end: whoever is handed it asks for no more, and would not
    /// see that there is.
    last: Option<Frame<Bytes>>,
    ended: Ended,
}

/// Wraps a guest's body. Where a length is promised, the body has to have exactly that.
///
/// # Errors
///
/// A body that says beforehand that it is too large or not as promised.
pub(crate) fn outgoing<B>(body: B, limit: u64, promised: Option<u64>, ended: Ended) -> Result<OutgoingBody, SendError>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let hint = body.size_hint();
    if hint.lower().max(promised.unwrap_or(0)) > limit {
        return Err(SendError::RequestTooLarge(limit));
    }
    if let Some(promised) = promised
        && (hint.lower() > promised || hint.upper().is_some_and(|upper| upper < promised))
    {
        return Err(SendError::RequestLength(promised));
    }
    Ok(Counted { body: Box::pin(body), sent: 0, limit, promised, last: None, ended }.boxed_unsync())
}

impl<B> Counted<B> {
    fn fail(&self, why: Why) -> Poll<Option<Result<Frame<Bytes>, Why>>> {
        self.ended.set(why.clone());
        Poll::Ready(Some(Err(why)))
    }
}

impl<B> Body for Counted<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Why;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Why>>> {
        loop {
            let frame = match ready!(self.body.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return self.fail(Why::RequestBody(error.into().to_string())),
                None => {
                    return match self.promised {
                        Some(promised) if self.sent < promised => self.fail(Why::RequestLength(promised)),
                        _ => Poll::Ready(self.last.take().map(Ok)),
                    };
                }
            };
            let Some(data) = frame.data_ref() else {
                return self.fail(Why::RequestBody("trailers are not sent".to_owned()));
            };
            if data.is_empty() {
                continue;
            }
            self.sent += data.len() as u64;
            match self.promised {
                _ if self.sent > self.limit => return self.fail(Why::RequestTooLarge(self.limit)),
                Some(promised) if self.sent > promised => return self.fail(Why::RequestLength(promised)),
                Some(promised) if self.sent == promised => self.last = Some(frame),
                _ => return Poll::Ready(Some(Ok(frame))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        // What is promised and not there has to be noticed.
        self.last.is_none() && self.promised.unwrap_or(0) <= self.sent && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        // It is asked once, before the first piece.
        self.promised.map_or_else(|| self.body.size_hint(), SizeHint::with_exact)
    }
}

/// The body of an answer. It ends with an error where it is not whole: at the deadline, at its limit, and where the connection ends.
///
/// Dropping it before its end closes the connection.
pub struct ResponseBody {
    incoming: Incoming,
    received: u64,
    limit: u64,
    ended: Ended,
    /// Until the end.
    lease: Option<Lease>,
    /// Until the end.
    place: Option<Place>,
    /// Nothing comes behind an error.
    failed: bool,
}

impl ResponseBody {
    /// # Errors
    ///
    /// An answer that says beforehand that it is too large.
    pub(crate) fn new(
        incoming: Incoming,
        limit: u64,
        ended: Ended,
        lease: Lease,
        place: Place,
    ) -> Result<Self, SendError> {
        if incoming.size_hint().lower() > limit {
            return Err(SendError::ResponseTooLarge(limit));
        }
        let (lease, place) = (Some(lease), Some(place));
        let mut body = Self { incoming, received: 0, limit, ended, lease, place, failed: false };
        if body.incoming.is_end_stream() {
            body.finish();
        }
        Ok(body)
    }

    fn finish(&mut self) {
        self.place = None;
        if let Some(lease) = self.lease.take() {
            lease.give_back();
        }
    }

    fn fail(&mut self, error: SendError) -> Poll<Option<Result<Frame<Bytes>, SendError>>> {
        (self.failed, self.lease, self.place) = (true, None, None);
        Poll::Ready(Some(Err(error)))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = SendError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, SendError>>> {
        if self.failed || self.lease.is_none() {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut self.incoming).poll_frame(cx));
        let mut frame = match (frame, self.ended.error()) {
            (_, Some(error)) => return self.fail(error),
            (Some(Err(error)), None) => return self.fail(of_hyper(&error)),
            (None, None) => {
                self.finish();
                return Poll::Ready(None);
            }
            (Some(Ok(frame)), None) => frame,
        };
        if let Some(trailers) = frame.trailers_mut() {
            header::incoming(trailers);
        }
        self.received += frame.data_ref().map_or(0, Bytes::len) as u64;
        if self.received > self.limit {
            let limit = self.limit;
            return self.fail(SendError::ResponseTooLarge(limit));
        }
        if self.incoming.is_end_stream() {
            self.finish();
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.failed || self.lease.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl std::fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseBody").field("received", &self.received).finish_non_exhaustive()
    }
}
