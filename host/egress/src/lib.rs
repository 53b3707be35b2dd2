//! Where a plugin's requests and connections may go, and the way there.
//!
//! It knows addresses, names and HTTP; it knows no plugin, no guest and nothing of Kafka.

#![forbid(unsafe_code)]

pub mod address;
mod body;
mod connect;
pub mod denied;
pub mod destination;
mod egress;
mod error;
mod exchange;
mod header;
pub mod host;
mod limits;
mod lookup;
mod network;
mod pool;
mod request;
mod rules;
mod tls;
#[cfg(test)]
mod vectors;

pub use body::ResponseBody;
pub use denied::Denied;
pub use egress::{Egress, StartError};
pub use error::{LookUpFailed, SendError};
pub use header::{HeaderProblem, HeaderRefused};
pub use limits::{InFlight, Limits};
pub use lookup::{LookUpError, LookedUp, Resolved};
pub use network::{Network, Pending, SystemNetwork};
pub use rules::{HeaderError, HttpGrant, RuleError, Rules};
