//! The network itself: looking names up and opening connections. The seam at which tests stand in for it.
//!
//! It knows no policy: whoever calls it has judged the address.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use tokio::net::TcpStream;

/// What a network gives back, later.
pub type Pending<T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send>>;

/// Looks names up and opens connections.
pub trait Network: Send + Sync + 'static {
    /// The addresses of a name, in the order in which they are to be tried. The name is lower-case ASCII and not an address.
    fn resolve(&self, name: &str) -> Pending<Vec<IpAddr>>;

    /// A connection to exactly that address.
    fn dial(&self, address: SocketAddr) -> Pending<TcpStream>;
}

/// The network of the machine: its resolver, its routes, and no proxy, whatever the environment says.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemNetwork;

impl Network for SystemNetwork {
    fn resolve(&self, name: &str) -> Pending<Vec<IpAddr>> {
        let name = name.to_owned();
        Box::pin(async move {
            // The port only has to be one; nobody dials what comes back.
            let mut addresses: Vec<IpAddr> = Vec::new();
            for address in tokio::net::lookup_host((name.as_str(), 0)).await? {
                if !addresses.contains(&address.ip()) {
                    addresses.push(address.ip());
                }
            }
            Ok(addresses)
        })
    }

    fn dial(&self, address: SocketAddr) -> Pending<TcpStream> {
        Box::pin(TcpStream::connect(address))
    }
}
