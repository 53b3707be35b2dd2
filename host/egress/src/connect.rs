//! From a target to an open connection: look up once, judge every address, dial one of those and no other, and TLS.
//!
//! It knows no request.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout_at;

use crate::denied::{Asked, Denied, Reason};
use crate::destination::{HttpTarget, Scheme};
use crate::egress::Shared;
use crate::error::{LookUpFailed, SendError};
use crate::header::HEADER_BYTES_MAX;
use crate::host::{Host, Name};
use crate::pool::{Connection, same_socket};
use crate::tls;

/// Addresses of one name that are tried, of all that were judged.
const DIALS_MAX: usize = 8;
/// Headers of an answer.
pub(crate) const HEADERS_MAX: usize = 128;
/// Bytes of an answer that are kept for a reader who is slower than the server.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// What a connection is made of: TLS, or nothing around it.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Shared {
    /// Opens a connection. All of it has to be done by then.
    pub(crate) async fn connect(&self, target: &HttpTarget, by: Instant) -> Result<Connection, SendError> {
        let addresses = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => self.look_up(name, by).await?,
        };
        self.judge(&addresses, || Asked::Http(target.clone()))?;
        let too_late = || SendError::ConnectTimeout(target.to_string());
        let stream = self.dial_one(&addresses, target.port, by).await;
        let stream = stream.ok_or_else(too_late)?;
        let stream = stream.map_err(|source| SendError::Connect { target: target.to_string(), source })?;
        // A request is small, and its answer is waited for.
        let _ = stream.set_nodelay(true);
        let socket = same_socket(&stream).map_err(|error| SendError::Host(error.to_string()))?;
        let asked = Arc::downgrade(&socket);
        let encrypted = timeout_at(by.into(), self.encrypt(target, stream)).await;
        let stream = encrypted.map_err(|_| too_late())??;
        let mut builder = http1::Builder::new();
        builder.max_headers(HEADERS_MAX).max_header_size(HEADER_BYTES_MAX).max_buf_size(BUFFER_BYTES_MAX);
        let (sender, connection) =
            builder.handshake(TokioIo::new(stream)).await.map_err(|error| SendError::Host(error.to_string()))?;
        let task = self.runtime.spawn(async move {
            // Whoever waits for an answer hears of the error; between answers it only means that the connection is closed.
            let _ = connection.await;
            drop(socket);
        });
        Ok(Connection::new(sender, task.abort_handle(), asked))
    }

    /// The addresses of a name, by one look-up.
    pub(crate) async fn look_up(&self, name: &Name, by: Instant) -> Result<Vec<IpAddr>, LookUpFailed> {
        let too_late = || LookUpFailed::Timeout(name.to_string());
        let place = timeout_at(by.into(), Arc::clone(&self.look_ups).acquire_owned()).await.map_err(|_| too_late())?;
        let answer = self.network.resolve(name.as_str());
        // Not abandoned with us: the resolver's thread is busy until it answers, and so is the place.
        let task = self.runtime.spawn(async move {
            let answer = answer.await;
            drop(place);
            answer
        });
        let failed = |source| LookUpFailed::Refused { name: name.to_string(), source };
        let answer = timeout_at(by.into(), task).await.map_err(|_| too_late())?;
        let addresses = answer.map_err(|error| failed(io::Error::other(error)))?.map_err(failed)?;
        if addresses.is_empty() { Err(LookUpFailed::NoAddress(name.to_string())) } else { Ok(addresses) }
    }

    /// The denial of what no grant is for.
    pub(crate) fn not_granted(&self, asked: Asked) -> Denied {
        Denied::not_granted(asked, &self.policy)
    }

    /// Judges all addresses. One that is refused refuses the whole answer: whoever mixes them wants one to be tried after the other.
    pub(crate) fn judge(&self, addresses: &[IpAddr], asked: impl FnOnce() -> Asked) -> Result<(), Denied> {
        let refused = addresses.iter().filter_map(|address| self.policy.judge(*address).err()).collect();
        match Reason::of(refused) {
            Some(reason) => Err(Denied { asked: asked(), reason }),
            None => Ok(()),
        }
    }

    /// Dials the addresses in order until one takes the connection. Each gets its share of the time that is left, so that one which does
    /// not answer leaves some for the next. None when the time is over.
    async fn dial_one(&self, addresses: &[IpAddr], port: u16, by: Instant) -> Option<io::Result<TcpStream>> {
        let mut last = None;
        let addresses = &addresses[..addresses.len().min(DIALS_MAX)];
        for (address, left) in addresses.iter().zip((1..=addresses.len() as u32).rev()) {
            let now = Instant::now();
            let share = by.saturating_duration_since(now) / left;
            let dialled = timeout_at((now + share).into(), self.network.dial(SocketAddr::new(*address, port))).await;
            match dialled {
                Ok(Ok(stream)) => return Some(Ok(stream)),
                Ok(Err(error)) => last = Some(Err(error)),
                Err(_) => {}
            }
        }
        last
    }

    async fn encrypt(&self, target: &HttpTarget, stream: TcpStream) -> Result<Box<dyn Stream>, SendError> {
        match (target.scheme, &self.tls) {
            (Scheme::Http, _) => Ok(Box::new(stream)),
            (Scheme::Https, None) => Err(SendError::Host("https is granted, and TLS is not set up".to_owned())),
            (Scheme::Https, Some(connector)) => {
                let host = match &target.host {
                    Host::Name(name) => name.to_string(),
                    Host::Address(address) => address.to_string(),
                };
                let failed = |failed| match failed {
                    tls::Failed::Certificate(reason) => SendError::Certificate { target: target.to_string(), reason },
                    tls::Failed::Other(reason) => SendError::Tls { target: target.to_string(), reason },
                };
                Ok(Box::new(tls::handshake(connector, &host, stream).await.map_err(failed)?))
            }
        }
    }
}
