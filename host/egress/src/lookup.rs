//! Names that guests look up, and connections that they open by themselves.
//!
//! It knows no HTTP.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::denied::{Asked, Denied, Reason};
use crate::egress::Egress;
use crate::error::LookUpFailed;
use crate::host::{Host, HostProblem};

/// How long a look-up may take.
const LOOK_UP_MAX: Duration = Duration::from_secs(2);

/// Addresses that one guest's look-ups are remembered to have given. The oldest is forgotten for one more.
const RESOLVED_MAX: usize = 256;

/// What one guest's look-ups gave. The guest may connect to that, at the ports that are granted for the name.
#[derive(Clone, Debug, Default)]
pub struct Resolved(VecDeque<(Host, IpAddr)>);

/// The answer to a look-up: all addresses of the name, each of which passed the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookedUp {
    host: Host,
    addresses: Vec<IpAddr>,
}

impl LookedUp {
    /// The addresses, in the order in which they are to be tried.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }
}

impl Resolved {
    /// Remembers an answer.
    pub fn remember(&mut self, answer: &LookedUp) {
        for address in &answer.addresses {
            let entry = (answer.host.clone(), *address);
            self.0.retain(|earlier| *earlier != entry);
            self.0.push_back(entry);
            if self.0.len() > RESOLVED_MAX {
                self.0.pop_front();
            }
        }
    }
}

impl Egress {
    /// Looks a name up for a guest. Only names that a TCP grant is for are asked for; an address that one is for is its own answer.
    ///
    /// # Errors
    ///
    /// Names that are not granted, before anything is looked up; an answer with an address that the policy refuses, as a whole; and no
    /// answer within two seconds or by the deadline.
    pub async fn look_up(&self, name: &str, deadline: Instant) -> Result<LookedUp, LookUpError> {
        let host = Host::parse(name)?;
        let asked = || Asked::look_up(&host);
        if !self.shared.rules.tcp.iter().any(|grant| grant.host.matches(&host)) {
            return Err(self.shared.not_granted(asked()).into());
        }
        let addresses = match &host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                let by = deadline.min(Instant::now() + LOOK_UP_MAX);
                let (shared, name) = (Arc::clone(&self.shared), name.clone());
                let answer = self.shared.spawn(async move { shared.look_up(&name, by).await }).await;
                answer.map_err(|error| LookUpError::Host(error.to_string()))??
            }
        };
        self.shared.judge(&addresses, asked)?;
        Ok(LookedUp { host, addresses })
    }

    /// Whether a guest may connect to that address: because a grant names it, or because this guest looked a granted name up and it was in
    /// the answer.
    ///
    /// # Errors
    ///
    /// Any other address, and any that the policy refuses.
    pub fn may_connect(&self, address: SocketAddr, resolved: &Resolved) -> Result<(), Denied> {
        let is_granted = |host: &Host| {
            self.shared.rules.tcp.iter().any(|grant| grant.port == address.port() && grant.host.matches(host))
        };
        let looked_up = || resolved.0.iter().filter(|(_, found)| *found == address.ip()).map(|(host, _)| host);
        if matches!(address, SocketAddr::V6(address) if address.scope_id() != 0) {
            return Err(Denied { asked: Asked::Tcp(address), reason: Reason::Zone });
        }
        if !(is_granted(&Host::Address(address.ip())) || looked_up().any(is_granted)) {
            return Err(self.shared.not_granted(Asked::Tcp(address)));
        }
        self.shared.judge(&[address.ip()], || Asked::Tcp(address))
    }
}

/// Why a guest's look-up has no answer.
#[derive(Debug, thiserror::Error)]
pub enum LookUpError {
    /// Nothing grants it. The text holds the line that would.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// It is no name.
    #[error("cannot look the name up: {0}")]
    NoName(#[from] HostProblem),
    /// The resolver does not help.
    #[error(transparent)]
    Failed(#[from] LookUpFailed),
    /// Something in the host. Its text goes to the log, and to no guest.
    #[error("the host cannot look names up: {0}")]
    Host(String),
}
