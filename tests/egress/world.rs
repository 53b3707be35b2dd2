//! A way out with a network of the test's own: names with the answers that they are to get, and everything that was asked for.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use gristmill_egress::address::parse_range;
use gristmill_egress::destination::{HttpOrigin, TcpDestination};
use gristmill_egress::{Egress, HttpGrant, InFlight, Limits, Network, Pending, ResponseBody, Rules, SendError};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Empty, Full};
use tokio::net::TcpStream;

use crate::server::{PATIENCE, ip};

/// What the network was asked for, and what it is to answer.
#[derive(Default)]
pub(crate) struct Book {
    answers: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    silent: Mutex<Vec<IpAddr>>,
    resolved: Mutex<Vec<String>>,
    dialled: Mutex<Vec<SocketAddr>>,
}

#[derive(Clone)]
struct OwnNetwork(Arc<Book>);

impl Network for OwnNetwork {
    /// The next answer for the name; the last one stays. A name without any is never answered.
    fn resolve(&self, name: &str) -> Pending<Vec<IpAddr>> {
        self.0.resolved.lock().unwrap().push(name.to_owned());
        let mut all = self.0.answers.lock().unwrap();
        let Some(answers) = all.get_mut(name) else { return Box::pin(std::future::pending()) };
        let answer = if answers.len() > 1 { answers.pop_front().unwrap() } else { answers[0].clone() };
        Box::pin(std::future::ready(Ok(answer)))
    }

    fn dial(&self, address: SocketAddr) -> Pending<TcpStream> {
        self.0.dialled.lock().unwrap().push(address);
        if self.0.silent.lock().unwrap().contains(&address.ip()) {
            return Box::pin(std::future::pending());
        }
        if !address.ip().is_loopback() {
            return Box::pin(std::future::ready(Err(io::Error::other("not loopback"))));
        }
        Box::pin(TcpStream::connect(address))
    }
}

impl Book {
    /// The names that were looked up, in order.
    pub(crate) fn resolved(&self) -> Vec<String> {
        self.resolved.lock().unwrap().clone()
    }

    /// The addresses that were dialled, in order.
    pub(crate) fn dialled(&self) -> Vec<SocketAddr> {
        self.dialled.lock().unwrap().clone()
    }

    pub(crate) fn saw_nothing(&self) {
        assert_eq!((self.resolved(), self.dialled()), (Vec::new(), Vec::new()));
    }

    /// Connections to that address are neither accepted nor refused.
    pub(crate) fn silence(&self, address: &str) {
        self.silent.lock().unwrap().push(ip(address));
    }

    /// From now on the name has these addresses.
    pub(crate) fn moves(&self, name: &str, addresses: &[&str]) {
        self.answers
            .lock()
            .unwrap()
            .insert(name.to_owned(), VecDeque::from([addresses.iter().map(|a| ip(a)).collect()]));
    }
}

/// What is to be granted.
#[derive(Default)]
pub(crate) struct Grants {
    rules: Rules,
    book: Book,
}

/// Grants of nothing but 127.0.0.1, which most tests send to.
pub(crate) fn grants() -> Grants {
    Grants::default().addresses("127.0.0.1")
}

impl Grants {
    pub(crate) fn http(self, origin: &str) -> Self {
        self.http_with(origin, &[])
    }

    pub(crate) fn http_with(mut self, origin: &str, headers: &[(&str, &str)]) -> Self {
        let origin = HttpOrigin::parse(origin).unwrap();
        self.rules.http.push(HttpGrant::new(origin, headers.iter().copied()).unwrap());
        self
    }

    pub(crate) fn tcp(mut self, destination: &str) -> Self {
        self.rules.tcp.push(TcpDestination::parse(destination).unwrap());
        self
    }

    pub(crate) fn addresses(mut self, range: &str) -> Self {
        self.rules.addresses.push(parse_range(range).unwrap());
        self
    }

    pub(crate) fn ca_file(mut self, path: PathBuf) -> Self {
        self.rules.ca_file = Some(path);
        self
    }

    /// The answers that a name gets, one after the other.
    pub(crate) fn name(self, name: &str, answers: &[&[&str]]) -> Self {
        let answers = answers.iter().map(|answer| answer.iter().map(|address| ip(address)).collect()).collect();
        self.book.answers.lock().unwrap().insert(name.to_owned(), answers);
        self
    }

    pub(crate) fn start(self) -> World {
        let book = Arc::new(self.book);
        let network = OwnNetwork(Arc::clone(&book));
        World::of(Egress::start(self.rules, network).unwrap(), book)
    }

    /// On another network, of which nothing is written down.
    pub(crate) fn start_on(self, network: impl Network) -> World {
        World::of(Egress::start(self.rules, network).unwrap(), Arc::default())
    }
}

/// A way out, and one guest who uses it.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) egress: Egress,
    pub(crate) book: Arc<Book>,
    pub(crate) guest: InFlight,
    pub(crate) limits: Limits,
    /// How long a request may take in all.
    pub(crate) time: Duration,
}

/// An answer whose body was read to its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl World {
    fn of(egress: Egress, book: Arc<Book>) -> Self {
        Self { egress, book, guest: InFlight::default(), limits: Limits::default(), time: PATIENCE }
    }

    pub(crate) async fn send<B>(&self, request: Request<B>) -> Result<Response<ResponseBody>, SendError>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.egress.send(request, &self.guest, self.limits, Instant::now() + self.time).await
    }

    /// Asks for a URL, as a guest does that made a URI of it.
    pub(crate) async fn begin(&self, url: &str) -> Result<Response<ResponseBody>, SendError> {
        self.send(Request::get(url).body(Empty::<Bytes>::new()).unwrap()).await
    }

    pub(crate) async fn ask(&self, url: &str) -> Result<Answer, SendError> {
        read(self.begin(url).await?).await
    }

    pub(crate) async fn post(&self, url: &str, body: impl Into<Bytes>) -> Result<Answer, SendError> {
        read(self.send(Request::post(url).body(Full::new(body.into())).unwrap()).await?).await
    }
}

/// Asks until a kept connection takes the request. A connection is kept a moment after the end of its answer; until then a request goes the
/// whole way, and is refused there.
pub(crate) async fn until_kept(world: &World, url: &str) {
    let deadline = Instant::now() + PATIENCE;
    while world.ask(url).await.is_err() {
        assert!(Instant::now() < deadline, "no connection was kept");
        tokio::task::yield_now().await;
    }
}

/// Reads an answer to its end.
pub(crate) async fn read(response: Response<ResponseBody>) -> Result<Answer, SendError> {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await?.to_bytes();
    Ok(Answer { status: parts.status.as_u16(), body: String::from_utf8_lossy(&bytes).into_owned() })
}

/// The text of a denial, which fails for any other error.
pub(crate) fn denied<T: std::fmt::Debug>(result: Result<T, SendError>) -> String {
    match result {
        Err(SendError::Denied(denied)) => denied.to_string(),
        other => panic!("not denied: {other:?}"),
    }
}
