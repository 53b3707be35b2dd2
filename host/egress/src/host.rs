//! Hosts: one parser for what is granted, what is asked for and what is dialled.
//!
//! It knows no policy. What it returns is all that anybody compares, resolves or shows; the text that it read goes no further.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// A host that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// To be looked up.
    Name(Name),
    /// Written as an address, in whatever spelling.
    Address(IpAddr),
}

/// A name: lower-case ASCII, IDNA done, without a dot at its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(String);

/// The longest name that can be looked up.
const NAME_MAX: usize = 253;
const LABEL_MAX: usize = 63;

impl Host {
    /// Reads a host as it stands in a URL: a name, an IPv4 address, or an IPv6 address in brackets.
    ///
    /// The odd spellings of an IPv4 address (decimal, octal, hexadecimal, shortened, full-width digits, percent) become that address.
    ///
    /// # Errors
    ///
    /// Text that is neither, zone identifiers, and names that cannot be looked up.
    pub fn parse(text: &str) -> Result<Self, HostProblem> {
        match url::Host::parse(text).map_err(|_| HostProblem::NoHost)? {
            url::Host::Ipv4(address) => Ok(Self::Address(address.into())),
            url::Host::Ipv6(address) => Ok(Self::Address(address.into())),
            url::Host::Domain(name) => Name::of_ascii(&name).map(Self::Name),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl Name {
    fn of_ascii(name: &str) -> Result<Self, HostProblem> {
        let name = name.strip_suffix('.').unwrap_or(name);
        if name.contains('*') {
            return Err(HostProblem::Star);
        }
        let is_letter = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-' || c == b'_';
        let is_label = |label: &str| (1..=LABEL_MAX).contains(&label.len()) && label.bytes().all(is_letter);
        if name.len() > NAME_MAX || !name.split('.').all(is_label) {
            return Err(HostProblem::NoName);
        }
        Ok(Self(name.to_owned()))
    }

    /// The name as it is looked up and compared with a certificate.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The hosts that a grant is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HostPattern {
    /// This one.
    Exact(Host),
    /// All names that end in a dot and this one; not the name itself, and no address.
    Under(Name),
}

impl HostPattern {
    /// Reads a host, or `*.` and a name.
    ///
    /// # Errors
    ///
    /// As [`Host::parse`]; stars anywhere else; and odd spellings of an IPv4 address, which nobody writes by intent.
    pub fn parse(text: &str) -> Result<Self, HostProblem> {
        if let Some(suffix) = text.strip_prefix("*.") {
            return match Host::parse(suffix)? {
                Host::Name(name) => Ok(Self::Under(name)),
                Host::Address(_) => Err(HostProblem::Star),
            };
        }
        let host = Host::parse(text)?;
        match host {
            Host::Address(IpAddr::V4(address)) if text.parse::<Ipv4Addr>() != Ok(address) => {
                Err(HostProblem::OddAddress(address))
            }
            Host::Name(_) | Host::Address(_) => Ok(Self::Exact(host)),
        }
    }

    /// Whether the grant is for that host.
    pub fn matches(&self, asked: &Host) -> bool {
        match (self, asked) {
            (Self::Exact(host), asked) => host == asked,
            (Self::Under(suffix), Host::Name(name)) => {
                name.0.strip_suffix(&suffix.0).is_some_and(|before| before.len() > 1 && before.ends_with('.'))
            }
            (Self::Under(_), Host::Address(_)) => false,
        }
    }

    /// Of two patterns that match one host, the larger of these numbers belongs to the narrower one.
    pub(crate) fn narrowness(&self) -> usize {
        match self {
            Self::Exact(_) => usize::MAX,
            Self::Under(suffix) => suffix.0.len(),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(host) => host.fmt(f),
            Self::Under(suffix) => write!(f, "*.{suffix}"),
        }
    }
}

/// What is wrong with a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostProblem {
    /// No host at all.
    #[error("it names no host; write a name, an IPv4 address, or an IPv6 address in brackets and without a zone")]
    NoHost,
    /// A host that nobody can look up.
    #[error(
        "its host cannot be looked up: a name has parts of 1 to 63 letters, digits, hyphens and underscores, and 253 characters at most"
    )]
    NoName,
    /// A star that is not the first part of a name.
    #[error("a star stands for the first part of a name and nothing else, such as *.example.com")]
    Star,
    /// An address in another spelling than the usual one.
    #[error("its host is the address {0}; write it so")]
    OddAddress(Ipv4Addr),
}

/// Takes the text of an authority apart: the host's text, and the port where there is one.
pub(crate) fn split_port(authority: &str) -> Result<(&str, Option<u16>), PortProblem> {
    let behind_host = match authority.rfind(']') {
        Some(end) => end + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, rest) = authority.split_at(behind_host);
    let Some(port) = rest.strip_prefix(':') else {
        return if rest.is_empty() { Ok((host, None)) } else { Err(PortProblem::NoPort) };
    };
    if port.contains(':') {
        return Err(PortProblem::NoBrackets);
    }
    let is_number = !port.is_empty() && port.len() <= 5 && port.bytes().all(|c| c.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(port) if is_number && port != 0 => Ok((host, Some(port))),
        Ok(_) | Err(_) => Err(PortProblem::NoPort),
    }
}

/// What is wrong with a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortProblem {
    /// Not a number that a port can have.
    #[error("its port is none; write a number from 1 to 65535")]
    NoPort,
    /// More colons than one.
    #[error("write an IPv6 address in brackets, such as [fd00::1]:5432")]
    NoBrackets,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    const HOSTS: &str = include_str!("../vectors/hosts.txt");
    const MATCHES: &str = include_str!("../vectors/matches.txt");

    #[test]
    fn every_spelling_of_a_host_becomes_what_it_means_or_is_refused() {
        vectors::check(HOSTS, |text| match Host::parse(text) {
            Ok(Host::Name(name)) => format!("name {name}"),
            Ok(Host::Address(address)) => format!("address {address}"),
            Err(_) => "refused".to_owned(),
        });
    }

    #[test]
    fn a_grant_matches_its_hosts_and_no_others() {
        for [pattern, asked, verdict] in vectors::rows(MATCHES) {
            let pattern = HostPattern::parse(&pattern).unwrap();
            let found = Host::parse(&asked).is_ok_and(|asked| pattern.matches(&asked));
            assert_eq!(found, verdict == "yes", "{pattern} {asked}");
        }
    }

    #[test]
    fn whatever_the_text_a_host_that_comes_out_is_read_as_itself() {
        let mut chance = vectors::Chance::new(11);
        let mut read = 0;
        for _ in 0..100_000 {
            let text = chance.text("abcxyz019.-_%:[]@/\\0x\u{ff11}\u{3002}");
            if let Ok(host) = Host::parse(&text) {
                read += 1;
                assert_eq!(Host::parse(&host.to_string()), Ok(host.clone()), "{text:?}");
                if let Host::Name(name) = &host {
                    assert!(name.as_str().parse::<IpAddr>().is_err(), "{text:?}");
                    assert!(name.as_str().bytes().all(|c| c.is_ascii_graphic()), "{text:?}");
                }
            }
            let _ = HostPattern::parse(&text);
            let _ = split_port(&text);
        }
        assert!(read > 1_000, "only {read} of the texts were hosts");
    }
}
