//! A registry on a loopback port that answers as a test says, well or badly, and remembers who asked for what.
//!
//! It does not know schemas.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use gristmill_decode::{Decoder, Format, Limits, Registry, RegistrySettings};
use serde_json::{Value, json};

/// What is answered to a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A status and a JSON text.
    Json(u16, Value),
    /// A status, further lines of the head, and a body.
    Plain(u16, &'static str, &'static str),
    /// A status, and the header of the request that says who asks, in the words of a registry.
    Repeating(u16),
    /// A page of that many bytes, as proxies have them.
    Page(usize),
    /// Bytes that need not be HTTP.
    Bytes(&'static [u8]),
    /// The beginning of a good answer, which then goes on for ever.
    Endless,
    /// A good answer, a byte at a time.
    Dripping,
    /// Nothing, until the client gives up.
    Silent,
    /// A good answer with this schema, after everybody who was told to wait has come.
    After(Arc<std::sync::Barrier>, Value),
}

impl Reply {
    /// A schema in that language.
    pub(crate) fn schema(language: &str, schema: &str) -> Self {
        Self::Json(200, json!({ "schemaType": language, "schema": schema }))
    }

    /// A schema in that language that refers to others: name, subject and version of each.
    pub(crate) fn referring(language: &str, schema: &str, references: &[(&str, &str, i64)]) -> Self {
        let references = references
            .iter()
            .map(|(name, subject, version)| json!({ "name": name, "subject": subject, "version": version }));
        let references: Vec<Value> = references.collect();
        Self::Json(200, json!({ "schemaType": language, "schema": schema, "references": references }))
    }

    /// What a registry says about an id that it does not have.
    pub(crate) fn missing() -> Self {
        Self::Json(404, json!({ "error_code": 40403, "message": "Schema not found" }))
    }
}

/// How an answer of a registry begins that does not end.
const ENDLESS: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.schemaregistry.v1+json\r\n\
    Content-Length: 104857600\r\n\r\n{\"schema\":\"";

/// What is remembered of a request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    pub(crate) at: Instant,
}

#[derive(Default)]
struct Shared {
    replies: Mutex<HashMap<String, Reply>>,
    asked: Mutex<Vec<Asked>>,
    ended: AtomicBool,
}

/// The registry. What it was not told about it does not have.
pub(crate) struct FakeRegistry {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

impl FakeRegistry {
    /// Listens on a free port.
    pub(crate) fn new() -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").expect("a port is free"))
    }

    /// Listens where somebody listened before.
    pub(crate) fn again(address: SocketAddr) -> Self {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match TcpListener::bind(address) {
                Ok(listener) => return Self::on(listener),
                Err(error) => assert!(Instant::now() < deadline, "the port is free again: {error}"),
            }
            thread::yield_now();
        }
    }

    fn on(listener: TcpListener) -> Self {
        let shared = Arc::new(Shared::default());
        let address = listener.local_addr().expect("it has an address");
        let accepting = Arc::clone(&shared);
        let acceptor = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if accepting.ended.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&accepting);
                thread::spawn(move || drop(serve(&shared, stream)));
            }
        });
        Self { shared, address, acceptor: Some(acceptor) }
    }

    /// Says what is answered for a path from now on.
    pub(crate) fn answer(&self, path: &str, reply: Reply) {
        self.shared.replies.lock().unwrap().insert(path.to_owned(), reply);
    }

    /// Says what is answered for an id from now on.
    pub(crate) fn answer_id(&self, id: u32, reply: Reply) {
        self.answer(&format!("/schemas/ids/{id}"), reply);
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// How often a path was asked for so far.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.asked().iter().filter(|asked| asked.path == path).count()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A client of it, with time limits that a test can wait for.
    pub(crate) fn client(&self) -> Arc<Registry> {
        client(RegistrySettings { request_time_max: Duration::from_secs(2), ..RegistrySettings::new(self.url()) })
    }
}

impl Drop for FakeRegistry {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.acceptor.take().map(JoinHandle::join);
    }
}

/// A client with these settings.
pub(crate) fn client(settings: RegistrySettings) -> Arc<Registry> {
    Arc::new(Registry::new(settings).expect("the settings can be used"))
}

/// A decoder that has its schemas from a registry.
pub(crate) fn decoder(format: &Format, registry: &Arc<Registry>) -> Decoder {
    Decoder::new(format, Some(registry), Limits::default()).expect("the format can be used")
}

fn serve(shared: &Shared, mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    serve_one(shared, &mut stream).map(|_| ())
}

/// Answers one request on a connection, and remembers it.
fn serve_one(shared: &Shared, stream: &mut (impl Read + Write)) -> io::Result<()> {
    let (mut path, mut authorization) = (String::new(), None);
    let mut reader = BufReader::new(&mut *stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((_, rest)) = line.split_once("GET ") {
            path = rest.split(' ').next().unwrap_or_default().to_owned();
        }
        if let Some((_, value)) = line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            authorization = Some(value.trim().to_owned());
        }
    }
    shared.asked.lock().unwrap().push(Asked { path: path.clone(), authorization, at: Instant::now() });
    let reply = shared.replies.lock().unwrap().get(&path).cloned().unwrap_or_else(Reply::missing);
    if let Reply::Repeating(status) = reply {
        let message = format!("no such user: {}", authorization_of(shared));
        return send_body(stream, status, "", &json!({ "error_code": 40101, "message": message }).to_string());
    }
    send(shared, stream, reply)
}

/// What the last request said about who asks.
fn authorization_of(shared: &Shared) -> String {
    shared.asked.lock().unwrap().last().and_then(|asked| asked.authorization.clone()).unwrap_or_default()
}

/// Answers one request on a connection with that reply, whatever it is.
pub(crate) fn answer_once(stream: &mut (impl Read + Write), reply: Reply) -> io::Result<()> {
    let shared = Shared::default();
    shared.replies.lock().unwrap().insert("/schemas/ids/1".to_owned(), reply);
    serve_one(&shared, stream)
}

fn send(shared: &Shared, stream: &mut impl Write, reply: Reply) -> io::Result<()> {
    match reply {
        Reply::Json(status, body) => send_body(stream, status, "", &body.to_string()),
        Reply::Plain(status, head, body) => send_body(stream, status, head, body),
        Reply::Repeating(status) => send_body(stream, status, "", ""),
        Reply::Page(bytes) => {
            let head = "Content-Type: text/html\r\n";
            send_body(stream, 200, head, &"<html> ".repeat(bytes / 7))
        }
        Reply::Bytes(bytes) => stream.write_all(bytes),
        Reply::After(barrier, body) => {
            barrier.wait();
            send_body(stream, 200, "", &body.to_string())
        }
        Reply::Endless => {
            stream.write_all(ENDLESS)?;
            // 100 MB, or until the client has had enough.
            (0..1600).try_for_each(|_| stream.write_all(&[b'x'; 65536]))
        }
        Reply::Dripping => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n{\"schema\":\"")?;
            // It drips in real time: that is what is slow about it. It ends with the client.
            while !shared.ended.load(Ordering::SeqCst) {
                stream.write_all(b"x")?;
                thread::sleep(Duration::from_millis(20));
            }
            Ok(())
        }
        Reply::Silent => {
            while !shared.ended.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(20));
            }
            Ok(())
        }
    }
}

fn send_body(stream: &mut impl Write, status: u16, head: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    write!(stream, "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n{head}\r\n{body}")?;
    stream.flush()
}
