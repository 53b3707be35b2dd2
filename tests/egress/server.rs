//! Servers on loopback that do as they are told, byte for byte, and count what arrives.
//!
//! They know no HTTP but where a request ends.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// What a server knows of what arrived.
#[derive(Default)]
pub(crate) struct Arrivals {
    connections: AtomicUsize,
    closed: AtomicUsize,
    requests: Mutex<Vec<Vec<u8>>>,
    stop: AtomicBool,
}

/// A server on a free port.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) arrivals: Arc<Arrivals>,
}

/// One connection that arrived.
pub(crate) struct Arrived {
    pub(crate) stream: TcpStream,
    arrivals: Arc<Arrivals>,
    buffered: Vec<u8>,
}

impl Server {
    /// Each connection is handled on a thread of its own, and closed when that is done.
    pub(crate) fn start(handle: impl Fn(&mut Arrived) + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), handle)
    }

    pub(crate) fn start_at(address: SocketAddr, handle: impl Fn(&mut Arrived) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let arrivals = Arc::new(Arrivals::default());
        let (seen, handle) = (Arc::clone(&arrivals), Arc::new(handle));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if seen.stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                seen.connections.fetch_add(1, Ordering::SeqCst);
                let (arrivals, handle) = (Arc::clone(&seen), Arc::clone(&handle));
                thread::spawn(move || {
                    let mut arrived = Arrived { stream, arrivals, buffered: Vec::new() };
                    handle(&mut arrived);
                    let Arrived { stream, arrivals, .. } = arrived;
                    drop(stream);
                    arrivals.closed.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, arrivals }
    }

    /// Answers every request on a connection with these bytes.
    pub(crate) fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |arrived| arrived.answer_all(&answer))
    }

    /// Accepts and does nothing, until the other side closes.
    pub(crate) fn silent() -> Self {
        Self::start(|arrived| arrived.wait_for_end())
    }

    /// A server at the same port of another loopback address, which is to see nothing.
    pub(crate) fn beside(other: &Self, address: &str) -> Self {
        let address = SocketAddr::new(address.parse().unwrap(), other.address.port());
        Self::start_at(address, |arrived| arrived.wait_for_end())
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.arrivals.connections.load(Ordering::SeqCst)
    }

    /// Whole requests, as they were on the wire.
    pub(crate) fn requests(&self) -> Vec<String> {
        let requests = self.arrivals.requests.lock().unwrap();
        requests.iter().map(|request| String::from_utf8_lossy(request).into_owned()).collect()
    }

    /// Fails unless nothing has arrived. What is accepted is accepted in order: when a connection of the test's own is seen, everything
    /// before it has been seen too.
    pub(crate) fn saw_nothing(&self) {
        let own = TcpStream::connect(self.address).unwrap();
        wait_until("its own connection is seen", || self.connections() > 0);
        assert_eq!(self.connections(), 1, "the only connection is the test's own");
        assert_eq!(self.requests(), [""; 0]);
        drop(own);
    }

    /// Waits until that many connections are done with.
    pub(crate) fn wait_for_closed(&self, count: usize) {
        wait_until("the connections are closed", || self.arrivals.closed.load(Ordering::SeqCst) >= count);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.arrivals.stop.store(true, Ordering::SeqCst);
        // The listener has to wake up to see it.
        let _ = TcpStream::connect(self.address);
    }
}

/// Waits, asking now and then.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        thread::yield_now();
    }
}

impl Arrived {
    /// The next whole request: its head, and its body by length or in chunks. None when the connection ends before.
    pub(crate) fn request(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = end_of_request(&self.buffered) {
                let rest = self.buffered.split_off(end);
                let request = std::mem::replace(&mut self.buffered, rest);
                self.note(request.clone());
                return Some(request);
            }
            let mut piece = [0; 16 * 1024];
            let length = self.stream.read(&mut piece).ok().filter(|length| *length > 0)?;
            self.buffered.extend_from_slice(&piece[..length]);
        }
    }

    /// Waits until anything arrives.
    pub(crate) fn beginning(&mut self) {
        let _ = self.stream.read(&mut [0; 16 * 1024]);
    }

    /// Writes a whole request down.
    pub(crate) fn note(&self, request: Vec<u8>) {
        self.arrivals.requests.lock().unwrap().push(request);
    }

    /// Writes, and says whether the other side still took it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    pub(crate) fn answer_all(&mut self, answer: &[u8]) {
        while self.request().is_some() {
            if !self.write(answer) {
                return;
            }
        }
    }

    /// Reads until the other side closes.
    pub(crate) fn wait_for_end(&mut self) {
        let mut piece = [0; 16 * 1024];
        while self.stream.read(&mut piece).is_ok_and(|length| length > 0) {}
    }

    /// Writes these bytes one at a time, as slowly, until the other side closes.
    pub(crate) fn drip(&mut self, bytes: &[u8], pause: Duration) {
        for byte in bytes {
            if !self.write(&[*byte]) || self.is_closed_within(pause) {
                return;
            }
        }
        self.wait_for_end();
    }

    /// Waits that long, or until the other side closes.
    fn is_closed_within(&mut self, pause: Duration) -> bool {
        self.stream.set_read_timeout(Some(pause)).unwrap();
        let mut piece = [0; 1024];
        let is_closed = self.stream.read(&mut piece).is_ok_and(|length| length == 0);
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        is_closed
    }
}

fn end_of_request(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    if text.contains("transfer-encoding: chunked") {
        // The tests send one such request at a time.
        return bytes.ends_with(b"0\r\n\r\n").then_some(bytes.len());
    }
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let end = head + length.map_or(0, |length| length.trim().parse().unwrap());
    (bytes.len() >= end).then_some(end)
}

/// An answer with that body.
pub(crate) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The loopback addresses by which tests tell what is granted from what is not.
pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}
