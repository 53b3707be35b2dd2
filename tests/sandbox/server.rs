//! A server of the tests' own on this machine, which says what it is told to and keeps what it hears.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// What ends a wait for a request that does not come whole. Longer than any test takes.
const READ_WAIT_MAX: Duration = Duration::from_secs(30);

/// A listener and all that arrived at it.
pub(crate) struct Server {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
    seen: mpsc::Receiver<Seen>,
}

/// What happened at a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A request is there, whole.
    Request,
    /// The other side went away before it had its answer.
    Gone,
}

impl Server {
    /// Answers every request with these bytes. Nothing: it never answers.
    pub(crate) fn answering(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        let (see, seen) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, heard, see) = (stream.unwrap(), Arc::clone(&kept), see.clone());
                std::thread::spawn(move || serve(stream, answer, &heard, &see));
            }
        });
        Self { port, heard, seen }
    }

    /// Waits for the next thing to happen, for so long.
    pub(crate) fn next(&self, wait_max: Duration) -> Option<Seen> {
        self.seen.recv_timeout(wait_max).ok()
    }

    /// Every request that arrived, and every connection without one as an empty text.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, answer: &str, heard: &Mutex<Vec<String>>, see: &mpsc::Sender<Seen>) {
    let at = {
        let mut heard = heard.lock().unwrap();
        heard.push(String::new());
        heard.len() - 1
    };
    stream.set_read_timeout(Some(READ_WAIT_MAX)).unwrap();
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while !is_whole(&bytes) {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(length) => bytes.extend_from_slice(&piece[..length]),
        }
        heard.lock().unwrap()[at] = String::from_utf8_lossy(&bytes).into_owned();
    }
    // Nobody may be left to hear it, here and below.
    let _ = see.send(Seen::Request);
    if answer.is_empty() {
        // Until the other side goes away.
        let _ = stream.read(&mut piece);
        let _ = see.send(Seen::Gone);
    } else {
        let _ = stream.write_all(answer.as_bytes());
    }
}

/// True for a head without a body, for a body with its end, and for a line without a head.
fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return text.ends_with("\n") && !text.contains("HTTP/");
    };
    !head.to_ascii_lowercase().contains("transfer-encoding") || body.ends_with("0\r\n\r\n")
}
