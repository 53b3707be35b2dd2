//! What the operator granted, checked once, and which grant a request falls under.
//!
//! It knows no network.

use std::fmt;
use std::path::PathBuf;

use http::header::{HeaderName, HeaderValue};
use ipnet::IpNet;

use crate::address::{AddressPolicy, Forbidden};
use crate::destination::{HttpOrigin, HttpTarget, TcpDestination};
use crate::header::{HeaderProblem, check_injected};
use crate::host::{Host, HostPattern};

/// What is granted. Nothing is, by default.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Where requests may go.
    pub http: Vec<HttpGrant>,
    /// Where connections may go, and which names may be looked up.
    pub tcp: Vec<TcpDestination>,
    /// The special ranges that hosts of both lists may resolve to, or be.
    pub addresses: Vec<IpNet>,
    /// Authorities (PEM) that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
}

impl Rules {
    /// The grant that a request to that target falls under: of several the one with the narrowest host.
    pub(crate) fn grant_for(&self, target: &HttpTarget) -> Option<&HttpGrant> {
        let fitting = self.http.iter().filter(|grant| grant.origin.matches(target));
        fitting.max_by_key(|grant| grant.origin.host.narrowness())
    }

    /// Finds what can never work, or leaves open what is meant: what a start refuses.
    ///
    /// # Errors
    ///
    /// One origin is granted twice, or an address that is not public is granted and not listed.
    pub fn judge(&self) -> Result<(), RuleError> {
        self.check(&AddressPolicy::new(self.addresses.clone()))
    }

    pub(crate) fn check(&self, policy: &AddressPolicy) -> Result<(), RuleError> {
        for (at, grant) in self.http.iter().enumerate() {
            if self.http[..at].iter().any(|earlier| earlier.origin == grant.origin) {
                return Err(RuleError::Twice(grant.origin.clone()));
            }
            literal_passes(policy, &grant.origin.host, &grant.origin)?;
        }
        self.tcp.iter().try_for_each(|destination| literal_passes(policy, &destination.host, destination))
    }
}

/// Whether the policy lets an address pass that a grant names itself. It has to be in the list of addresses as well, so that this list
/// is all that anybody has to read to know which special ranges are open.
fn literal_passes(policy: &AddressPolicy, host: &HostPattern, grant: &impl fmt::Display) -> Result<(), RuleError> {
    let HostPattern::Exact(Host::Address(address)) = host else { return Ok(()) };
    policy.judge(*address).map_err(|forbidden| RuleError::Forbidden { grant: grant.to_string(), forbidden })
}

/// One origin to which requests may go, with what the host adds to them.
#[derive(Clone)]
pub struct HttpGrant {
    origin: HttpOrigin,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl HttpGrant {
    /// A grant for that origin. Each header is added to every request to it; a guest's own header of that name is refused.
    ///
    /// # Errors
    ///
    /// Names and values that are none, names that belong to the connection, and a name that comes twice.
    pub fn new<'a>(
        origin: HttpOrigin,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, HeaderError> {
        let mut injected: Vec<(HeaderName, HeaderValue)> = Vec::new();
        for (name, value) in headers {
            let failed = |problem| HeaderError { name: name.to_owned(), origin: origin.to_string(), problem };
            let (name, value) = check_injected(name, value).map_err(failed)?;
            if injected.iter().any(|(earlier, _)| *earlier == name) {
                return Err(failed(HeaderProblem::Twice));
            }
            injected.push((name, value));
        }
        Ok(Self { origin, headers: injected })
    }

    /// Where to.
    pub fn origin(&self) -> &HttpOrigin {
        &self.origin
    }

    /// The headers that are added. Their values are marked as sensitive.
    pub fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.headers
    }
}

impl fmt::Debug for HttpGrant {
    /// Shows the names of the headers, and no value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("HttpGrant").field("origin", &self.origin.to_string()).field("headers", &names).finish()
    }
}

/// A header that cannot be added to requests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot add the header {name:?} to requests to {origin}: {problem}")]
pub struct HeaderError {
    /// The header's name as it was written. Its value is shown nowhere.
    pub name: String,
    /// The grant that it stands in.
    pub origin: String,
    /// What is wrong with it.
    pub problem: HeaderProblem,
}

/// Grants that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Which headers should be added?
    #[error("{0} is granted twice: remove one")]
    Twice(HttpOrigin),
    /// An address of a special range, which is not granted.
    #[error("the grant {grant} is for an address that is {}: add {}", forbidden.kind, crate::denied::AddressLine(&forbidden.missing))]
    Forbidden {
        /// The grant.
        grant: String,
        /// Why it could not be used.
        forbidden: Forbidden,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(origin: &str, headers: &[(&str, &str)]) -> Result<HttpGrant, HeaderError> {
        HttpGrant::new(HttpOrigin::parse(origin).unwrap(), headers.iter().copied())
    }

    fn http(origins: &[&str]) -> Rules {
        Rules { http: origins.iter().map(|origin| grant(origin, &[]).unwrap()).collect(), ..Rules::default() }
    }

    #[test]
    fn of_several_grants_the_narrowest_counts() {
        let rules = http(&["https://*.example.org", "https://*.a.example.org", "https://x.a.example.org"]);
        let found = |host: &str| {
            let target = HttpTarget::parse("https", host).unwrap();
            rules.grant_for(&target).map(|grant| grant.origin().to_string())
        };
        assert_eq!(found("x.a.example.org").as_deref(), Some("https://x.a.example.org"));
        assert_eq!(found("y.a.example.org").as_deref(), Some("https://*.a.example.org"));
        assert_eq!(found("a.example.org").as_deref(), Some("https://*.example.org"));
        assert_eq!(found("example.org"), None);
    }

    #[test]
    fn a_secret_is_shown_nowhere() {
        let granted = grant("https://api.example.com", &[("authorization", "Bearer hunter2")]).unwrap();
        let shown = format!(
            "{granted:?} {:?} {:#?}",
            granted.headers(),
            Rules { http: vec![granted.clone()], ..Rules::default() }
        );
        assert!(shown.contains("authorization") && !shown.contains("hunter2"), "{shown}");
        let refused = grant("https://api.example.com", &[("authorization", "hunter2\r\nx: y")]).unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{refused:?}");
    }

    #[test]
    fn headers_that_belong_to_the_connection_cannot_be_added() {
        for name in ["host", "Connection", "transfer-encoding", "content-length", "te", "upgrade", "expect", "proxy-x"]
        {
            let error = grant("https://api.example.com", &[(name, "x")]).unwrap_err();
            assert_eq!(error.problem, HeaderProblem::OfTheConnection, "{name}");
        }
        let twice = grant("https://api.example.com", &[("X-Key", "a"), ("x-key", "b")]).unwrap_err();
        assert_eq!(
            twice.to_string(),
            "cannot add the header \"x-key\" to requests to https://api.example.com: it is there twice"
        );
        for name in ["", "x y", "x:", "x\r\n", "\u{fc}"] {
            assert_eq!(
                grant("https://a.example", &[(name, "x")]).unwrap_err().problem,
                HeaderProblem::NoName,
                "{name:?}"
            );
        }
        assert!(
            grant("https://api.example.com", &[("authorization", "x"), ("cookie", "a=b"), ("x-api-key", "y")]).is_ok()
        );
    }

    #[test]
    fn grants_that_cannot_work_are_found_at_the_start() {
        let policy = AddressPolicy::default();
        let twice = http(&["https://a.example", "https://A.example:443"]).check(&policy).unwrap_err();
        assert_eq!(twice.to_string(), "https://a.example is granted twice: remove one");
        let literal = Rules { tcp: vec![TcpDestination::parse("10.0.3.7:5432").unwrap()], ..Rules::default() };
        assert_eq!(
            literal.check(&policy).unwrap_err().to_string(),
            "the grant 10.0.3.7:5432 is for an address that is private: add plugin.grants.addresses = [\"10.0.3.7/32\"]"
        );
        assert_eq!(literal.check(&AddressPolicy::new(vec!["10.0.3.0/24".parse().unwrap()])), Ok(()));
        let disguised = http(&["http://[::ffff:10.0.0.1]"]).check(&policy).unwrap_err().to_string();
        assert!(
            disguised.ends_with("add plugin.grants.addresses = [\"::ffff:10.0.0.1/128\", \"10.0.0.1/32\"]"),
            "{disguised}"
        );
    }
}
