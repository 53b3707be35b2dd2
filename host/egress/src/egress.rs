//! The way out as a whole: what is granted, one thread that drives every connection, and the connections that are kept.
//!
//! It knows no single request; that is `exchange`.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use openssl::error::ErrorStack;
use openssl::ssl::SslConnector;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

use crate::address::AddressPolicy;
use crate::destination::Scheme;
use crate::network::Network;
use crate::pool::Pool;
use crate::rules::{RuleError, Rules};
use crate::tls;

/// Look-ups that are under way at once. One that the resolver does not answer keeps its place until it does, so that a guest cannot make
/// threads wait without end; those that find no place in time fail.
const LOOK_UPS_MAX: usize = 8;

/// How often connections that nobody used for long are looked for.
const TIDY_EVERY: Duration = Duration::from_secs(10);

/// Where requests and connections may go, and the way there. Clones share their connections.
///
/// All connections live on a thread of their own, since guests run only now and then, and several workers share what is open. The thread
/// ends with the last clone and the last answer's body.
#[derive(Clone, Debug)]
pub struct Egress {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) rules: Rules,
    pub(crate) policy: AddressPolicy,
    pub(crate) network: Box<dyn Network>,
    /// Only where https is granted.
    pub(crate) tls: Option<SslConnector>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) look_ups: Arc<Semaphore>,
    pub(crate) runtime: Handle,
    /// Dropped with this, which ends the thread.
    _alive: oneshot::Sender<()>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Egress").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Egress {
    /// Checks the rules, reads the certificates where they are needed, and starts the thread.
    ///
    /// # Errors
    ///
    /// Rules that contradict each other, certificates that cannot be read, and a system that gives no thread.
    pub fn start(rules: Rules, network: impl Network) -> Result<Self, StartError> {
        let policy = AddressPolicy::new(rules.addresses.clone());
        rules.check(&policy)?;
        let needs_tls = rules.http.iter().any(|grant| grant.origin().scheme == Scheme::Https);
        let tls = if needs_tls { Some(tls::connector(rules.ca_file.as_deref())?) } else { None };
        let runtime =
            Builder::new_current_thread().enable_io().enable_time().max_blocking_threads(2 * LOOK_UPS_MAX).build();
        let runtime = runtime.map_err(StartError::Thread)?;
        let handle = runtime.handle().clone();
        let pool = Arc::new(Pool::default());
        let (alive, gone) = oneshot::channel();
        let tended = Arc::clone(&pool);
        let body = move || {
            runtime.block_on(tend(&tended, gone));
            // A look-up that hangs must not keep the thread.
            runtime.shutdown_background();
        };
        thread::Builder::new().name("egress".to_owned()).spawn(body).map_err(StartError::Thread)?;
        let look_ups = Arc::new(Semaphore::new(LOOK_UPS_MAX));
        let network = Box::new(network);
        let shared = Shared { rules, policy, network, tls, pool, look_ups, runtime: handle, _alive: alive };
        Ok(Self { shared: Arc::new(shared) })
    }
}

/// Closes what nobody used for long, until nobody is left who could.
async fn tend(pool: &Pool, mut gone: oneshot::Receiver<()>) {
    while timeout(TIDY_EVERY, &mut gone).await.is_err() {
        pool.tidy();
    }
}

/// Why there is no way out.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// See there.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// The file of authorities cannot be read.
    #[error("cannot read the certificates in {}: {source}", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file of authorities holds none.
    #[error("{} holds no certificate: it has to be PEM", path.display())]
    NoCertificates {
        /// The file.
        path: PathBuf,
    },
    /// OpenSSL does not start.
    #[error("cannot set TLS up: {0}")]
    Tls(#[from] ErrorStack),
    /// The system gives no thread or no poll.
    #[error("cannot start the thread for requests: {0}")]
    Thread(io::Error),
}

/// A task on the thread of the way out that ends when whoever waits for it goes away.
pub(crate) struct Abandoned<T>(JoinHandle<T>);

impl Shared {
    pub(crate) fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> Abandoned<T> {
        Abandoned(self.runtime.spawn(task))
    }
}

impl<T> Future for Abandoned<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for Abandoned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
