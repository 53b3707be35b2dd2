//! Connections and name look-ups of guests: each is asked about, and what was not granted is refused as the system refuses it.
//!
//! `wasi:sockets/ip-name-lookup` is ours and not wasmtime's, which looks up every name or none; so are `tcp-create-socket` and
//! `udp-create-socket`, since a socket is one of the system's before anybody asks where it may go. Where a guest may go is decided in `gristmill-egress`.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::vec;

use gristmill_egress::address::AddressPolicy;
use gristmill_egress::denied::Asked;
use gristmill_egress::host::Host;
use gristmill_egress::{Denied, Egress, LookUpError, LookUpFailed, Resolved};
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource, ResourceTable, ResourceType};
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddress, IpAddressFamily, Network};
use wasmtime_wasi::p2::bindings::sockets::tcp_create_socket::Host as _;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable, Pollable, TcpSocket, UdpSocket, subscribe};
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};
use wasmtime_wasi::sockets::{self, SocketAddrUse};

use crate::denials::Denials;
use crate::grants::Closed;
use crate::guest::State;

/// The interface, in the version that wasmtime's own WASI has; guests of every patch of 0.2 find it.
const NAME_LOOKUP: &str = "wasi:sockets/ip-name-lookup@0.2.12";

/// The interface that makes sockets.
const TCP_CREATE: &str = "wasi:sockets/tcp-create-socket@0.2.12";

/// The interface that makes sockets for datagrams.
const UDP_CREATE: &str = "wasi:sockets/udp-create-socket@0.2.12";

/// What is told where a plugin wants to send or receive datagrams, and where it wants to listen. Without the address: a guest that tries
/// many would crowd out what a line could grant.
const NO_UDP: &str = "a UDP socket: plugins have no UDP; nothing grants it";
const NO_LISTENING: &str = "a TCP socket at an address of its own: plugins connect and never listen; nothing grants it";

/// What to do where a plugin asks for a socket and nothing grants a connection. Which one it wants shows only later.
const NO_TCP: &str = "add plugin.grants.tcp = [\"db.internal:5432\"], with the host and port that are meant, and plugin.grants.addresses where \
                      the host has an address that is not public";

/// So many sockets of an instance may be open at once, and as many connections that are read from or written to. Each is a file of the host's
/// process, which has perhaps a thousand for all. A guest that wants more is told that there are no more, as a system would.
const SOCKETS_MAX: usize = 64;

/// What the sockets of one instance hang on. Clones share what was looked up.
#[derive(Clone)]
pub(crate) struct Sockets {
    egress: Result<Egress, Closed>,
    resolved: Arc<Mutex<Resolved>>,
    denials: Arc<Denials>,
}

impl Sockets {
    /// For a new instance, which has looked up nothing.
    pub(crate) fn new(egress: Result<Egress, Closed>, denials: Arc<Denials>) -> Self {
        Self { egress, resolved: Arc::default(), denials }
    }

    /// Gives an instance its sockets.
    pub(crate) fn arrange(&self, wasi: &mut WasiCtxBuilder) {
        let sockets = self.clone();
        wasi.allow_udp(false).allow_tcp(true).allow_ip_name_lookup(false).socket_addr_check(move |address, usage| {
            let allowed = sockets.allows(address, usage);
            Box::pin(async move { allowed })
        });
    }

    fn allows(&self, address: SocketAddr, usage: SocketAddrUse) -> bool {
        let denied = match usage {
            // What connects is bound to no address of its own choice first.
            SocketAddrUse::TcpBind if address.ip().is_unspecified() && address.port() == 0 => return true,
            SocketAddrUse::TcpConnect => match self.may_connect(address) {
                Ok(()) => return true,
                Err(denied) => denied,
            },
            SocketAddrUse::TcpBind | SocketAddrUse::TcpListen | SocketAddrUse::TcpAccept => NO_LISTENING.to_owned(),
            SocketAddrUse::UdpBind | SocketAddrUse::UdpSend | SocketAddrUse::UdpReceive => NO_UDP.to_owned(),
        };
        self.denials.note(&denied);
        false
    }

    /// Tells that there is no way out, and gives what the guest hears of it.
    fn closed(&self, closed: Closed) -> ErrorCode {
        self.denials.note(&no_connection(closed));
        ErrorCode::AccessDenied
    }

    /// Whether the guest may have a socket at all.
    fn may_have_one(&self) -> Result<(), ErrorCode> {
        self.egress.as_ref().map(drop).map_err(|closed| self.closed(*closed))
    }

    /// Whether the guest may connect there, or what is told of that.
    fn may_connect(&self, address: SocketAddr) -> Result<(), String> {
        match &self.egress {
            Ok(egress) => egress.may_connect(address, &self.resolved()).map_err(|denied| denied.to_string()),
            // Nobody gets as far as that: there is no socket.
            Err(closed) => Err(no_connection(*closed)),
        }
    }

    fn resolved(&self) -> MutexGuard<'_, Resolved> {
        self.resolved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn look_up(self, name: String, deadline: Instant) -> Result<Vec<IpAddr>, ErrorCode> {
        let egress = match &self.egress {
            Ok(egress) => egress,
            Err(Closed::NotGranted) => {
                return Err(match Host::parse(&name) {
                    Ok(host) => {
                        let denied = Denied::not_granted(Asked::look_up(&host), &AddressPolicy::default());
                        self.denials.note(&denied.to_string());
                        ErrorCode::AccessDenied
                    }
                    Err(_) => ErrorCode::InvalidArgument,
                });
            }
            Err(closed) => return Err(self.closed(*closed)),
        };
        let answer = egress.look_up(&name, deadline).await.map_err(|error| self.failed(&error))?;
        self.resolved().remember(&answer);
        Ok(answer.addresses().to_vec())
    }

    /// The same failure as a guest hears it; the operator hears of what was denied.
    fn failed(&self, error: &LookUpError) -> ErrorCode {
        match error {
            LookUpError::Denied(denied) => {
                self.denials.note(&denied.to_string());
                ErrorCode::AccessDenied
            }
            LookUpError::NoName(_) => ErrorCode::InvalidArgument,
            LookUpError::Failed(LookUpFailed::Timeout(_)) | LookUpError::Host(_) => ErrorCode::TemporaryResolverFailure,
            LookUpError::Failed(_) => ErrorCode::NameUnresolvable,
        }
    }
}

fn no_connection(closed: Closed) -> String {
    closed.told("a TCP connection", "TCP", NO_TCP)
}

/// A look-up: the resource behind `resolve-address-stream`.
enum Lookup {
    Running(AbortOnDropJoinHandle<Result<Vec<IpAddr>, ErrorCode>>),
    Done(vec::IntoIter<IpAddr>),
    Failed(ErrorCode),
}

impl Lookup {
    fn done(result: Result<Vec<IpAddr>, ErrorCode>) -> Self {
        match result {
            Ok(addresses) => Self::Done(addresses.into_iter()),
            Err(code) => Self::Failed(code),
        }
    }

    fn next(&mut self) -> Result<Option<IpAddress>, ErrorCode> {
        if let Self::Running(running) = self {
            let Some(result) = wasmtime_wasi::runtime::poll_noop(std::pin::Pin::new(running)) else {
                return Err(ErrorCode::WouldBlock);
            };
            *self = Self::done(result);
        }
        match self {
            Self::Running(_) => Err(ErrorCode::WouldBlock),
            Self::Done(addresses) => Ok(addresses.next().map(Into::into)),
            Self::Failed(code) => Err(*code),
        }
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Lookup {
    async fn ready(&mut self) {
        if let Self::Running(running) = self {
            *self = Self::done(running.await);
        }
    }
}

type Store<'s> = StoreContextMut<'s, State>;

/// Makes a socket, where a connection is granted and while there are not too many.
fn create_tcp_socket(
    state: &mut State,
    family: IpAddressFamily,
) -> wasmtime::Result<Result<Resource<TcpSocket>, ErrorCode>> {
    if let Err(code) = state.sockets().may_have_one() {
        return Ok(Err(code));
    }
    if has_too_many(state.table()) {
        state
            .sockets()
            .denials
            .note(&format!("more than {SOCKETS_MAX} sockets and streams at once; nothing grants it"));
        return Ok(Err(ErrorCode::NewSocketLimit));
    }
    match sockets::WasiSocketsView::sockets(state).create_tcp_socket(family) {
        Ok(socket) => Ok(Ok(socket)),
        Err(error) => error.downcast().map(Err),
    }
}

/// Each stream of a connection outlives its socket and keeps it open, so all three are counted.
fn has_too_many(table: &mut ResourceTable) -> bool {
    let (mut sockets, mut read, mut written) = (0, 0, 0);
    for entry in table.iter_mut() {
        sockets += usize::from(entry.is::<TcpSocket>());
        read += usize::from(entry.is::<DynInputStream>());
        written += usize::from(entry.is::<DynOutputStream>());
    }
    sockets.max(read).max(written) >= SOCKETS_MAX
}

/// Puts our own in the place of what wasmtime has.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker
        .instance(TCP_CREATE)?
        .func_wrap("create-tcp-socket", |mut store: Store<'_>, (family,): (IpAddressFamily,)| {
            Ok((create_tcp_socket(store.data_mut(), family)?,))
        })?;
    linker.instance(UDP_CREATE)?.func_wrap("create-udp-socket", |mut store: Store<'_>, (_,): (IpAddressFamily,)| {
        store.data_mut().denials().note(NO_UDP);
        Ok((Err::<Resource<UdpSocket>, _>(ErrorCode::AccessDenied),))
    })?;
    let mut lookup = linker.instance(NAME_LOOKUP)?;
    lookup.resource("resolve-address-stream", ResourceType::host::<Lookup>(), |mut store: Store<'_>, rep| {
        store.data_mut().table().delete(Resource::<Lookup>::new_own(rep))?;
        Ok(())
    })?;
    lookup.func_wrap("resolve-addresses", |mut store: Store<'_>, (network, name): (Resource<Network>, String)| {
        let state = store.data_mut();
        state.table().get(&network)?;
        let deadline = Instant::now() + state.clock().time_left();
        let lookup = Lookup::Running(spawn(state.sockets().clone().look_up(name, deadline)));
        Ok((Ok::<_, ErrorCode>(state.table().push(lookup)?),))
    })?;
    lookup.func_wrap(
        "[method]resolve-address-stream.resolve-next-address",
        |mut store: Store<'_>, (lookup,): (Resource<Lookup>,)| Ok((store.data_mut().table().get_mut(&lookup)?.next(),)),
    )?;
    lookup.func_wrap(
        "[method]resolve-address-stream.subscribe",
        |mut store: Store<'_>, (lookup,): (Resource<Lookup>,)| -> wasmtime::Result<(Resource<DynPollable>,)> {
            Ok((subscribe(store.data_mut().table(), lookup)?,))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}
