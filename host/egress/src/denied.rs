//! What is told where something is not granted: what was asked for, why not, and the line that would grant it.
//!
//! It judges nothing.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

use crate::address::{AddressPolicy, Forbidden};
use crate::destination::HttpTarget;
use crate::host::{Host, Name};

/// Something that a guest asked for and that is not granted. Its text is one line.
///
/// Whatever a guest wrote stands in it as it was read (see [`crate::host::Host`]), so that no text of a guest gets into a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{asked} {reason}: {}", WayOut { asked, reason })]
pub struct Denied {
    /// What was asked for.
    pub asked: Asked,
    /// Why not.
    pub reason: Reason,
}

impl Denied {
    /// Something that no grant is for. Where it is an address by itself, `policy` says whether that has to be granted as well.
    pub fn not_granted(asked: Asked, policy: &AddressPolicy) -> Self {
        let address = match &asked {
            Asked::Http(HttpTarget { host: Host::Address(address), .. }) | Asked::LookUpAddress(address) => {
                Some(*address)
            }
            Asked::Tcp(address) => Some(address.ip()),
            Asked::Http(_) | Asked::LookUp(_) => None,
        };
        let forbidden = address.and_then(|address| policy.judge(address).err());
        let missing = forbidden.map(|forbidden| forbidden.missing).unwrap_or_default();
        Self { asked, reason: Reason::NotGranted { missing } }
    }
}

/// What a guest asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A request.
    Http(HttpTarget),
    /// The addresses of a name.
    LookUp(Name),
    /// The same of an address, in whatever spelling.
    LookUpAddress(IpAddr),
    /// A connection.
    Tcp(SocketAddr),
}

impl Asked {
    /// A look-up, which may be of an address as well.
    pub fn look_up(host: &Host) -> Self {
        match host {
            Host::Name(name) => Self::LookUp(name.clone()),
            Host::Address(address) => Self::LookUpAddress(*address),
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(target) => write!(f, "{}://{}:{}", target.scheme, target.host, target.port),
            Self::LookUp(name) => write!(f, "the name {name}"),
            Self::LookUpAddress(address) => write!(f, "the address {address}"),
            Self::Tcp(address) => write!(f, "{address}"),
        }
    }
}

/// Why it is not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No grant is for it.
    NotGranted {
        /// What would have to be granted besides, since it is an address of a special range.
        missing: Vec<IpNet>,
    },
    /// It names the interface that a connection is to leave by, which is nobody's to choose.
    Zone,
    /// It is, or it resolves to, an address of a special range.
    Forbidden {
        /// The first such address.
        first: Forbidden,
        /// What would have to be granted for all of them.
        missing: Vec<IpNet>,
    },
}

impl Reason {
    /// The reason where at least one address was refused.
    pub(crate) fn of(refused: Vec<Forbidden>) -> Option<Self> {
        let mut missing: Vec<IpNet> = Vec::new();
        for net in refused.iter().flat_map(|forbidden| &forbidden.missing) {
            if !missing.contains(net) && missing.len() < MISSING_MAX {
                missing.push(*net);
            }
        }
        Some(Self::Forbidden { first: refused.into_iter().next()?, missing })
    }
}

/// The most ranges that a line names. A name that resolves to more special addresses is asking for something else.
const MISSING_MAX: usize = 16;

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted { .. } => f.write_str("is not granted"),
            Self::Zone => f.write_str("is not granted, since a zone chooses the interface that a connection leaves by"),
            Self::Forbidden { first, .. } => write!(f, "leads to {}, which is {}", first.address, first.kind),
        }
    }
}

/// The line of the configuration that would grant it, or that there is none.
struct WayOut<'a> {
    asked: &'a Asked,
    reason: &'a Reason,
}

impl fmt::Display for WayOut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = match self.reason {
            Reason::Zone => return f.write_str("nothing grants it"),
            Reason::Forbidden { missing, .. } => return write!(f, "add {}", AddressLine(missing)),
            Reason::NotGranted { missing } => missing,
        };
        f.write_str("add ")?;
        match self.asked {
            Asked::Http(target) => write!(f, "plugin.grants.http = [\"{target}\"]"),
            Asked::LookUp(name) => write!(f, "plugin.grants.tcp = [\"{name}:5432\"], with the port that is meant"),
            Asked::LookUpAddress(address) => {
                let address = SocketAddr::new(*address, 5432);
                write!(f, "plugin.grants.tcp = [\"{address}\"], with the port that is meant")
            }
            Asked::Tcp(address) => write!(f, "plugin.grants.tcp = [\"{address}\"], or the name that it belongs to"),
        }?;
        if missing.is_empty() { Ok(()) } else { write!(f, ", and {}", AddressLine(missing)) }
    }
}

/// The line that grants these ranges.
pub(crate) struct AddressLine<'a>(pub(crate) &'a [IpNet]);

impl fmt::Display for AddressLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("plugin.grants.addresses = [")?;
        for (at, net) in self.0.iter().enumerate() {
            write!(f, "{}\"{net}\"", if at == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::destination::HttpOrigin;
    use crate::vectors;

    fn forbidden(addresses: &[&str]) -> Reason {
        let judged =
            addresses.iter().filter_map(|address| AddressPolicy::default().judge(address.parse().unwrap()).err());
        Reason::of(judged.collect()).unwrap()
    }

    /// What is told where no address is granted.
    fn not_granted(asked: Asked) -> String {
        Denied::not_granted(asked, &AddressPolicy::default()).to_string()
    }

    #[test]
    fn a_denial_names_what_was_asked_and_the_line_to_add() {
        let http = |authority: &str, reason| {
            let target = HttpTarget::parse("https", authority).unwrap();
            Denied { asked: Asked::Http(target), reason }.to_string()
        };
        assert_eq!(
            not_granted(Asked::Http(HttpTarget::parse("https", "api.example.com").unwrap())),
            "https://api.example.com:443 is not granted: add plugin.grants.http = [\"https://api.example.com\"]"
        );
        assert_eq!(
            not_granted(Asked::Http(HttpTarget::parse("https", "[2606:4700::7]:8443").unwrap())),
            "https://[2606:4700::7]:8443 is not granted: add plugin.grants.http = [\"https://[2606:4700::7]:8443\"]"
        );
        assert_eq!(
            http("api.example.com", forbidden(&["10.0.3.7"])),
            "https://api.example.com:443 leads to 10.0.3.7, which is private: add plugin.grants.addresses = [\"10.0.3.7/32\"]"
        );
        assert_eq!(
            http("api.example.com", forbidden(&["::ffff:127.0.0.1", "127.0.0.1"])),
            "https://api.example.com:443 leads to ::ffff:127.0.0.1, which is 127.0.0.1 in disguise (IPv4-mapped), which is \
             loopback: add plugin.grants.addresses = [\"::ffff:127.0.0.1/128\", \"127.0.0.1/32\"]"
        );
        let Ok(Host::Name(name)) = Host::parse("DB.internal") else { panic!("a name") };
        assert_eq!(
            not_granted(Asked::LookUp(name)),
            "the name db.internal is not granted: add plugin.grants.tcp = [\"db.internal:5432\"], with the port that is meant"
        );
        assert_eq!(
            not_granted(Asked::Tcp("1.1.1.1:5432".parse().unwrap())),
            "1.1.1.1:5432 is not granted: add plugin.grants.tcp = [\"1.1.1.1:5432\"], or the name that it belongs to"
        );
    }

    #[test]
    fn an_address_that_takes_two_grants_is_told_with_both_lines() {
        assert_eq!(
            not_granted(Asked::Tcp("10.0.3.7:5432".parse().unwrap())),
            "10.0.3.7:5432 is not granted: add plugin.grants.tcp = [\"10.0.3.7:5432\"], or the name that it belongs to, and \
             plugin.grants.addresses = [\"10.0.3.7/32\"]"
        );
        assert_eq!(
            not_granted(Asked::Http(HttpTarget::parse("http", "127.0.0.1:8080").unwrap())),
            "http://127.0.0.1:8080 is not granted: add plugin.grants.http = [\"http://127.0.0.1:8080\"], and \
             plugin.grants.addresses = [\"127.0.0.1/32\"]"
        );
        assert_eq!(
            not_granted(Asked::LookUpAddress("::ffff:10.0.3.7".parse().unwrap())),
            "the address ::ffff:10.0.3.7 is not granted: add plugin.grants.tcp = [\"[::ffff:10.0.3.7]:5432\"], with the port that \
             is meant, and plugin.grants.addresses = [\"::ffff:10.0.3.7/128\", \"10.0.3.7/32\"]"
        );
        let granted = AddressPolicy::new(vec!["10.0.3.0/24".parse().unwrap()]);
        let told = Denied::not_granted(Asked::Tcp("10.0.3.7:5432".parse().unwrap()), &granted).to_string();
        assert!(!told.contains("addresses"), "{told}");
    }

    #[test]
    fn the_line_to_add_grants_what_was_asked() {
        for [text, read_as] in vectors::rows(include_str!("../vectors/asked.txt")) {
            let (scheme, authority) = text.split_once("://").unwrap();
            let Ok(target) = HttpTarget::parse(scheme, authority) else { continue };
            let denied = not_granted(Asked::Http(target.clone()));
            let line = denied.split('"').nth(1).unwrap();
            assert_eq!(line, read_as);
            assert!(HttpOrigin::parse(line).unwrap().matches(&target), "{denied}");
        }
    }

    #[test]
    fn a_line_to_add_does_not_grow_without_end() {
        let many: Vec<String> = (0..200).map(|n| format!("10.0.0.{n}")).collect();
        let Reason::Forbidden { missing, .. } = forbidden(&many.iter().map(String::as_str).collect::<Vec<_>>()) else {
            panic!("refused");
        };
        assert_eq!(missing.len(), MISSING_MAX);
    }
}
