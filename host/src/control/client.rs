//! The other end of the control socket: a connection to a running host, and requests that wait for their answers.
//!
//! It does not look for hosts, and does not know what people read. An answer is not trusted more than its user is.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::place;
use super::request::{Answer, Done, Refusal, Request};
use super::server::Caller;

/// How long a host may take to take the connection and the request.
const CONNECT_WAIT_MAX: Duration = Duration::from_secs(3);

/// How long a host may take to answer: longer than it waits for its own run loop.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(15);

/// The longest answer: some hundred thousand partitions.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// There is no socket, or one of a host that is dead.
    #[error("no host listens there")]
    Nobody,
    /// Something listens that somebody else has made.
    #[error("it belongs to the user {0}, who is not you")]
    Stranger(u32),
    /// The host is there and stands still.
    #[error("the host there does not answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// The system refuses.
    #[error("{0}")]
    System(io::Error),
    /// The host does not do it.
    #[error("{}", .0.text)]
    Refused(Refusal),
    /// What came back is no answer.
    #[error("what answers there is no gristmill, or another version: {0}")]
    Unreadable(String),
}

impl From<io::Error> for AskError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Self::Nobody,
            // The queue of a host that stands still is full.
            io::ErrorKind::WouldBlock => Self::Silent(CONNECT_WAIT_MAX),
            _ => Self::System(error),
        }
    }
}

/// A connection to one host.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: BufReader<UnixStream>,
    /// Where it listens.
    pub(crate) path: PathBuf,
}

impl Connection {
    /// Connects to the host that listens at `path`.
    ///
    /// # Errors
    /// Nobody is there, or somebody who is not trusted.
    pub(crate) async fn open(path: &Path) -> Result<Self, AskError> {
        if let Some(fault) = place::fault(path) {
            return Err(AskError::System(io::Error::other(format!("the path {fault}"))));
        }
        let connecting = timeout(CONNECT_WAIT_MAX, UnixStream::connect(path)).await;
        let stream = connecting.map_err(|_| AskError::Silent(CONNECT_WAIT_MAX))??;
        let owner = Caller::from(stream.peer_cred()?).uid;
        // Root may look at the hosts of everybody. Everybody else would show what another user has written.
        if owner != place::user() && place::user() != 0 {
            return Err(AskError::Stranger(owner));
        }
        Ok(Self { stream: BufReader::new(stream), path: path.to_owned() })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// There is none, or a refusal.
    pub(crate) async fn ask(&mut self, request: &Request) -> Result<Done, AskError> {
        let asked = timeout(CONNECT_WAIT_MAX, self.stream.write_all(request.line().as_bytes())).await;
        // A host that sends its client away says why before it is asked.
        let asked = asked.map_err(|_| AskError::Silent(CONNECT_WAIT_MAX))?;
        let mut line = Vec::new();
        let answered =
            timeout(ANSWER_WAIT_MAX, (&mut self.stream).take(ANSWER_BYTES_MAX).read_until(b'\n', &mut line)).await;
        let answered = answered.map_err(|_| AskError::Silent(ANSWER_WAIT_MAX))?;
        if line.is_empty() {
            asked?;
            answered?;
            return Err(AskError::Unreadable("it closed the connection".to_owned()));
        }
        match serde_json::from_slice(&line) {
            Ok(Answer::Done(done)) => Ok(*done),
            Ok(Answer::Refused { error }) => Err(AskError::Refused(error)),
            Err(error) => Err(AskError::Unreadable(error.to_string())),
        }
    }
}
