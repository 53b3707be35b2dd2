//! An HTTP server that takes many package URLs with one request and tells of each what became of it, as such services do. For tests
//! and for trying things out.
//!
//! It must not know who asks, nor more of HTTP and JSON than such requests need.

mod http;
pub mod standalone;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};

pub use http::Asked;

/// Where package URLs are posted to.
pub const PATH: &str = "/v1/purls";

/// What it takes with one request.
const PURLS_MAX: usize = 1_000;

/// A running server. Dropping it closes its port.
#[derive(Debug)]
pub struct PurlApi {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

/// What the threads of a server share.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    ends: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// All requests, refused ones included, in their order.
    asked: Vec<Asked>,
    /// All package URLs that were taken, in their order.
    taken: Vec<String>,
    /// What some requests are answered, whatever they ask: by their number from 0, whole heads and bodies.
    answers: BTreeMap<usize, String>,
    /// Which credentials are wanted, where any are.
    authorization: Option<String>,
    /// How long every answer takes.
    late: Duration,
}

impl PurlApi {
    /// Starts a server on a free port of the loopback interface.
    ///
    /// # Errors
    ///
    /// When there is no port.
    pub fn start() -> Result<Self> {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], crate::port::free()?)))
    }

    /// Starts a server at an address, such as the one that another one had.
    ///
    /// # Errors
    ///
    /// When somebody else has it.
    pub fn start_at(address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address).with_context(|| format!("cannot listen at {address}"))?;
        let shared = Arc::new(Shared::default());
        let listening = Arc::clone(&shared);
        let listener = std::thread::spawn(move || listen(&listener, &listening));
        Ok(Self { address, shared, listener: Some(listener) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where package URLs are posted to.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Wants these credentials in `Authorization` from now on.
    pub fn want(&self, authorization: &str) {
        self.shared.state().authorization = Some(authorization.to_owned());
    }

    /// Takes so long for every answer from now on.
    pub fn answer_late(&self, late: Duration) {
        self.shared.state().late = late;
    }

    /// Answers one request so, whatever it asks, and takes nothing of it: after how many others it comes, a status with its reason,
    /// then further lines of the head.
    pub fn answer_after(&self, others: usize, status: &str, head: &[&str]) {
        let head: String = head.iter().map(|line| format!("{line}\r\n")).collect();
        let mut state = self.shared.state();
        let number = state.asked.len() + others;
        state.answers.insert(number, format!("HTTP/1.1 {status}\r\n{head}content-length: 0\r\n\r\n"));
    }

    /// All requests that came, those that were refused included.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.state().asked.clone()
    }

    /// All package URLs that were taken, in their order.
    #[must_use]
    pub fn taken(&self) -> Vec<String> {
        self.shared.state().taken.clone()
    }
}

impl Drop for PurlApi {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        // Wakes the one who listens, who then closes the port.
        drop(TcpStream::connect(self.address));
        drop(self.listener.take().map(JoinHandle::join));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.ends.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || serve(stream, &shared));
    }
}

/// Answers what comes on a connection until nothing does.
fn serve(mut stream: TcpStream, shared: &Shared) {
    while let Ok(Some(asked)) = http::read(&mut stream) {
        let (answer, late) = {
            let mut state = shared.state();
            (state.answer(asked), state.late)
        };
        std::thread::sleep(late);
        if shared.ends.load(Ordering::SeqCst) || http::write(&mut stream, &answer).is_err() {
            return;
        }
    }
}

impl State {
    /// What a request is answered, as it goes over the wire.
    fn answer(&mut self, asked: Asked) -> String {
        let answer = self.judge(&asked);
        self.asked.push(asked);
        answer
    }

    fn judge(&mut self, asked: &Asked) -> String {
        if let Some(answer) = self.answers.remove(&self.asked.len()) {
            return answer;
        }
        if self.authorization.is_some() && asked.header("authorization") != self.authorization.as_deref() {
            return http::json("401 Unauthorized", r#"{"error":"who are you?"}"#);
        }
        match (asked.method.as_str(), asked.path.as_str()) {
            ("POST", PATH) => self.take(&asked.body),
            ("GET", PATH) => http::json("200 OK", &format!("{:?}", self.taken)),
            _ => http::json("404 Not Found", r#"{"error":"there is nothing here"}"#),
        }
    }

    fn take(&mut self, body: &str) -> String {
        let Some(purls) = http::strings(body, "purls") else {
            return http::json("400 Bad Request", r#"{"error":"write {\"purls\": [\"pkg:…\", …]}"}"#);
        };
        if purls.len() > PURLS_MAX {
            return http::json("413 Content Too Large", r#"{"error":"too many at once"}"#);
        }
        let mut results = Vec::new();
        for purl in purls {
            if is_purl(&purl) {
                results.push(format!("{{\"purl\":{purl:?}}}"));
                self.taken.push(purl);
            } else {
                results.push(r#"{"error":"this is no package URL"}"#.to_owned());
            }
        }
        http::json("207 Multi-Status", &format!("{{\"results\":[{}]}}", results.join(",")))
    }
}

/// `pkg:TYPE/NAME`, with whatever behind it.
fn is_purl(text: &str) -> bool {
    let parts = text.strip_prefix("pkg:").and_then(|rest| rest.split_once('/'));
    parts.is_some_and(|(kind, name)| {
        !kind.is_empty() && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@' || c == '%')
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    fn ask(api: &PurlApi, request: &str) -> String {
        let mut stream = TcpStream::connect(api.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn post(api: &PurlApi, body: &str) -> String {
        ask(api, &format!("POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
    }

    #[test]
    fn what_is_posted_is_taken_and_told_of_in_its_order() {
        let api = PurlApi::start().unwrap();
        let answer = post(&api, r#"{"purls":["pkg:npm/a@1","npm/b","pkg:deb/debian/c"]}"#);
        assert!(answer.starts_with("HTTP/1.1 207 "), "{answer}");
        let results =
            r#"{"results":[{"purl":"pkg:npm/a@1"},{"error":"this is no package URL"},{"purl":"pkg:deb/debian/c"}]}"#;
        assert!(answer.ends_with(results), "{answer}");
        assert_eq!(api.taken(), ["pkg:npm/a@1", "pkg:deb/debian/c"]);
        assert!(ask(&api, &format!("GET {PATH} HTTP/1.1\r\n\r\n")).ends_with(r#"["pkg:npm/a@1", "pkg:deb/debian/c"]"#));
        assert!(post(&api, "[]").starts_with("HTTP/1.1 400 "));
        assert_eq!(api.asked().len(), 3);
    }

    #[test]
    fn an_answer_that_is_asked_for_is_given_once_and_credentials_are_wanted() {
        let api = PurlApi::start().unwrap();
        api.answer_after(0, "429 Too Many Requests", &["Retry-After: 1"]);
        assert!(post(&api, r#"{"purls":[]}"#).contains("429 Too Many Requests\r\nRetry-After: 1\r\n"));
        assert!(post(&api, r#"{"purls":[]}"#).contains(" 207 "));
        api.want("Bearer x");
        assert!(post(&api, r#"{"purls":[]}"#).contains(" 401 "));
    }

    #[test]
    fn a_port_is_free_again_when_its_server_is_gone() {
        let api = PurlApi::start().unwrap();
        let address = api.address();
        drop(api);
        assert_eq!(PurlApi::start_at(address).unwrap().address(), address);
    }
}
