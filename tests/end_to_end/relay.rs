//! Stands between a plugin and a server, and does to connections what networks do: brings them through, has their packets vanish
//! without a word to either side, or leads them to somebody else.
//!
//! It must not know what is said over them.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::pipeline::SOON;

/// A relay that listens on a port of the loopback interface until it is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Told when a connection was led elsewhere.
    news: Condvar,
}

#[derive(Debug)]
struct State {
    way: Way,
    /// How often connections were forgotten; those that were made before are dead.
    forgotten: usize,
    /// Connections that are dead but open.
    held: Vec<TcpStream>,
    /// How many were led elsewhere since that was wished for.
    led: usize,
    ends: bool,
}

/// What becomes of new connections.
#[derive(Clone, Debug)]
enum Way {
    /// To the server.
    Through(String),
    /// To somebody who says this, whatever it hears, and hangs up when the other side does; who has nothing to say hangs up at once.
    Elsewhere(Vec<u8>),
}

impl Relay {
    /// A relay to a server.
    pub(crate) fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = State { way: Way::Through(server.to_owned()), forgotten: 0, held: Vec::new(), led: 0, ends: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), news: Condvar::new() });
        let listening = Arc::clone(&shared);
        let listener = std::thread::spawn(move || listen(&listener, &listening));
        Self { address, shared, listener: Some(listener) }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Leads new connections to somebody who says this.
    pub(crate) fn lead_to(&self, says: &[u8]) {
        let mut state = state(&self.shared);
        (state.way, state.led) = (Way::Elsewhere(says.to_vec()), 0);
    }

    /// Waits until somebody has connected to the one who is meant now, and given up.
    #[track_caller]
    pub(crate) fn wait_until_led(&self) {
        let waited = self.shared.news.wait_timeout_while(state(&self.shared), SOON, |state| state.led == 0);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!timeout.timed_out(), "nobody has asked {:?} within {SOON:?}", state.way);
    }

    /// Leads new connections to a server.
    pub(crate) fn lead_through(&self, server: &str) {
        state(&self.shared).way = Way::Through(server.to_owned());
    }

    /// Has the packets of all connections that there are vanish from now on. Neither side is told; new connections are brought through.
    pub(crate) fn forget(&self) {
        state(&self.shared).forgotten += 1;
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        state(&self.shared).ends = true;
        // Wakes the one who listens, who then closes the port.
        drop(TcpStream::connect(self.address));
        drop(self.listener.take().map(JoinHandle::join));
        state(&self.shared).held.clear();
    }
}

fn state(shared: &Shared) -> MutexGuard<'_, State> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        let (way, made) = {
            let state = state(shared);
            if state.ends {
                return;
            }
            (state.way.clone(), state.forgotten)
        };
        let Ok(client) = stream else { continue };
        match way {
            Way::Elsewhere(says) => {
                let shared = Arc::clone(shared);
                std::thread::spawn(move || answer(client, &says, &shared));
            }
            Way::Through(server) => {
                // A server that is down has the client hung up on.
                let Ok(server) = TcpStream::connect(&*server) else { continue };
                let (from_client, from_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let (there, back) = (Arc::clone(shared), Arc::clone(shared));
                std::thread::spawn(move || bring(from_client, server, &there, made));
                std::thread::spawn(move || bring(from_server, client, &back, made));
            }
        }
    }
}

fn answer(mut client: TcpStream, says: &[u8], shared: &Shared) {
    let mut hears = || client.read(&mut [0; 1024]).is_ok_and(|count| count > 0);
    if !says.is_empty() && hears() && client.write_all(says).is_ok() {
        while client.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
    }
    let mut state = state(shared);
    if matches!(&state.way, Way::Elsewhere(now) if now == says) {
        state.led += 1;
        shared.news.notify_all();
    }
}

/// Brings what comes from one side to the other, until either ends or the connection is forgotten.
fn bring(mut from: TcpStream, mut to: TcpStream, shared: &Shared, made: usize) {
    let mut piece = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut piece) {
        {
            let mut state = state(shared);
            if state.forgotten > made && !state.ends {
                state.held.extend([from, to]);
                return;
            }
        }
        if to.write_all(&piece[..count]).is_err() {
            break;
        }
    }
    drop((from.shutdown(std::net::Shutdown::Both), to.shutdown(std::net::Shutdown::Both)));
}
