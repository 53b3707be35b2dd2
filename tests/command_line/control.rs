//! A running host as whoever talks to it sees it: `gristmill status`, `pause`, `resume`, `retry` and `stop`, and the socket below.
//!
//! The brokers are librdkafka's mock. `end_to_end` does the same against a real Kafka.

mod clients;
mod places;
mod words;

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gristmill_kafka::{MockCluster, MockRecord};
use gristmill_tests::{Host, TemporaryFolder};
use serde_json::{Value, json};

use crate::process::{Ended, Run, configuration};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);

/// The pipeline of [`configuration`].
const PIPELINE: &str = "orders-to-nowhere";

/// A cluster with one topic of one partition, and a host whose plugin does what records say.
pub(crate) struct Station {
    cluster: MockCluster,
    host: Host,
}

impl Station {
    /// `more` stands at the end of the configuration, inside `[plugin]`.
    pub(crate) fn start(more: &str) -> Self {
        let cluster = MockCluster::start(1).unwrap();
        cluster.create_topic("orders", 1).unwrap();
        let folder = TemporaryFolder::new();
        folder.write("g.toml", &text(more, &cluster.bootstrap_servers()));
        let host = Host::start(folder, &["run", "g.toml"]);
        host.wait_for_line("assigned; ", SOON);
        host.wait_for_line("listens to gristmill status", SOON);
        Self { cluster, host }
    }

    /// The host's line with this text.
    pub(crate) fn line(&self, text: &str) -> String {
        self.host.wait_for_line(text, SOON)
    }

    /// The host's process.
    pub(crate) fn process_id(&self) -> u32 {
        self.host.process_id()
    }

    fn socket(&self) -> PathBuf {
        self.host.socket(PIPELINE)
    }

    /// Puts a record there whose key tells the plugin what to do.
    pub(crate) fn put(&self, key: &str) {
        self.cluster.produce("orders", MockRecord { key: Some(key.as_bytes()), ..MockRecord::default() }).unwrap();
        self.cluster.flush().unwrap();
    }

    /// Runs a command where the host's socket is found.
    fn command(&self, arguments: &[&str]) -> Ended {
        command(&self.host, arguments)
    }

    /// What the host says of itself.
    fn status(&self) -> Value {
        ask(&self.socket(), &json!({"version": 1, "request": "status"}))["status"].clone()
    }

    /// Waits until the status fulfils the condition.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, found: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + SOON;
        loop {
            let status = self.status();
            if found(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "{what} did not come: {status:#}");
        }
    }

    /// Fails unless the host is well: it commits one more record.
    #[track_caller]
    fn is_well(&self) {
        let committed = |status: &Value| status["counts"]["committed"].as_u64().unwrap();
        let before = committed(&self.status());
        self.put("ok");
        self.wait_until("one more record committed", |status| committed(status) > before);
    }

    /// Stops the host and fails unless it ends well.
    #[track_caller]
    pub(crate) fn stop(self) -> Vec<String> {
        self.command(&["stop"]).good();
        let (code, lines) = self.host.wait_for_end(SOON);
        assert_eq!(code, 0, "{lines:#?}");
        lines
    }
}

/// The configuration of a host on these brokers.
fn text(more: &str, servers: &str) -> String {
    let more = format!("instances = \"reuse\"\n{more}\n[batch]\nmax_wait = \"10ms\"\n[fatal]\nthen = \"hold\"\n");
    configuration("gristmill-mischief", &more).replace("127.0.0.1:1", servers)
}

/// Runs a command where a host's socket is found.
fn command(host: &Host, arguments: &[&str]) -> Ended {
    Run::new().variable("GRISTMILL_RUNTIME_DIR", host.folder().path().join("gristmill")).with(arguments)
}

/// A client that is no gristmill.
struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    #[track_caller]
    fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    /// Says something; a host that has sent us away need not hear it.
    fn say(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.get_mut().write_all(bytes.as_ref());
    }

    /// The next answer; nothing once the host has closed the connection.
    #[track_caller]
    fn answer(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no answer: {error}"),
        }
    }

    /// The code of the refusal that comes next, and the end of the connection behind it.
    #[track_caller]
    fn refused(&mut self) -> String {
        let answer = self.answer().unwrap_or_else(|| panic!("no refusal came"));
        assert_eq!(answer["version"], 1, "{answer}");
        assert!(answer["error"]["text"].as_str().is_some_and(|text| !text.is_empty()), "{answer}");
        assert_eq!(self.answer(), None, "the connection goes on");
        answer["error"]["code"].as_str().unwrap().to_owned()
    }
}

/// Asks once.
#[track_caller]
fn ask(socket: &Path, request: &Value) -> Value {
    let mut client = Client::connect(socket);
    client.say(format!("{request}\n"));
    client.answer().unwrap_or_else(|| panic!("no answer came to {request}"))
}
