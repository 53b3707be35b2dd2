//! Attempts to reach what a guest was not granted. Each answers with what came of it.

use std::io::Read as _;
use std::net::{TcpStream, ToSocketAddrs as _};

use gristmill_plugin::bindings::plugin::gristmill::plugin::types::Outcome;

use crate::answer;
use crate::wasi::wasi;

pub(crate) fn environment() -> Outcome {
    let mut pairs: Vec<String> = std::env::vars().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.sort();
    answer::retry(&pairs.join("\n"), None)
}

pub(crate) fn arguments() -> Outcome {
    answer::retry(&std::env::args().collect::<Vec<_>>().join("\n"), None)
}

pub(crate) fn stdin() -> Outcome {
    let mut text = String::new();
    told(std::io::stdin().read_to_string(&mut text))
}

pub(crate) fn open(path: &str) -> Outcome {
    told(std::fs::read(path).map(|bytes| bytes.len()))
}

pub(crate) fn connect(address: &str) -> Outcome {
    told(TcpStream::connect(address).map(|_| "connected"))
}

pub(crate) fn resolve(name: &str) -> Outcome {
    told((name, 80).to_socket_addrs().map(Iterator::count))
}

/// Asks for so many random bytes in one host call, which no ordinary library would.
pub(crate) fn random(bytes: u64) -> Outcome {
    answer::retry(&wasi::random::random::get_random_bytes(bytes).len().to_string(), None)
}

fn told<T: std::fmt::Debug>(result: std::io::Result<T>) -> Outcome {
    match result {
        Ok(value) => answer::retry(&format!("reached: {value:?}"), None),
        Err(error) => answer::retry(&format!("refused: {error}"), None),
    }
}
