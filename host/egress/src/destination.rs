//! Destinations: what the operator grants, and what a guest asks for.
//!
//! It knows no addresses policy and no network.

use std::fmt;

use crate::host::{Host, HostPattern, HostProblem, PortProblem, split_port};

/// What is spoken with the other side, and whether it is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Inside TLS.
    Https,
}

impl Scheme {
    /// Reads `http` or `https`.
    pub fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            _ => None,
        }
    }

    /// The port where none is written.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

/// Where requests are granted to: scheme, host and port, all of which have to be those of the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HttpOrigin {
    /// How.
    pub scheme: Scheme,
    /// To whom.
    pub host: HostPattern,
    /// Where there.
    pub port: u16,
}

impl HttpOrigin {
    /// Reads `https://api.example.com`, `https://*.example.org:8443`.
    ///
    /// # Errors
    ///
    /// Anything that a grant does not consist of, with the way out.
    pub fn parse(text: &str) -> Result<Self, DestinationError> {
        let failed = |problem| DestinationError::new("http", text, problem);
        let Some((scheme, rest)) = text.split_once("://") else { return Err(failed(Problem::NoScheme)) };
        let scheme = Scheme::parse(scheme).ok_or_else(|| failed(Problem::Scheme))?;
        let (host, port) = host_and_port(rest).map_err(failed)?;
        Ok(Self { scheme, host, port: port.unwrap_or(scheme.default_port()) })
    }

    /// Whether the grant is for that target.
    pub fn matches(&self, target: &HttpTarget) -> bool {
        self.scheme == target.scheme && self.port == target.port && self.host.matches(&target.host)
    }
}

impl fmt::Display for HttpOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_origin(f, self.scheme, &self.host, self.port)
    }
}

/// Where connections are granted to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TcpDestination {
    /// To whom.
    pub host: HostPattern,
    /// Where there.
    pub port: u16,
}

impl TcpDestination {
    /// Reads `db.internal:5432`, `*.db.internal:5432`, `10.0.3.7:5432`, `[fd00::7]:5432`.
    ///
    /// # Errors
    ///
    /// Anything that a grant does not consist of, with the way out.
    pub fn parse(text: &str) -> Result<Self, DestinationError> {
        let failed = |problem| DestinationError::new("tcp", text, problem);
        if text.contains("://") {
            return Err(failed(Problem::NoSchemeHere));
        }
        let (host, port) = host_and_port(text).map_err(failed)?;
        Ok(Self { host, port: port.ok_or_else(|| failed(Problem::PortMissing))? })
    }
}

impl fmt::Display for TcpDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Where one request is to go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HttpTarget {
    /// How.
    pub scheme: Scheme,
    /// To whom.
    pub host: Host,
    /// Where there.
    pub port: u16,
}

impl HttpTarget {
    /// Reads scheme and authority as a guest gave them.
    ///
    /// # Errors
    ///
    /// Other schemes, a name or password before the host, and what is no host or port.
    pub fn parse(scheme: &str, authority: &str) -> Result<Self, Problem> {
        let scheme = Scheme::parse(scheme).ok_or(Problem::Scheme)?;
        check_characters(authority)?;
        let (host, port) = split_port(authority)?;
        Ok(Self { scheme, host: Host::parse(host)?, port: port.unwrap_or(scheme.default_port()) })
    }

    /// What the `host` header says: the port only where it is not the scheme's own.
    pub(crate) fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for HttpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_origin(f, self.scheme, &self.host, self.port)
    }
}

fn write_origin(f: &mut fmt::Formatter<'_>, scheme: Scheme, host: &impl fmt::Display, port: u16) -> fmt::Result {
    write!(f, "{scheme}://{host}")?;
    if port == scheme.default_port() { Ok(()) } else { write!(f, ":{port}") }
}

fn host_and_port(authority: &str) -> Result<(HostPattern, Option<u16>), Problem> {
    check_characters(authority)?;
    let (host, port) = split_port(authority)?;
    Ok((HostPattern::parse(host)?, port))
}

/// What begins that which stands in a URL behind host and port. A backslash is a slash to some readers, so it is one here.
const BEHIND: [char; 4] = ['/', '?', '#', '\\'];

/// Refuses what stands in a URL and belongs to neither host nor port.
fn check_characters(authority: &str) -> Result<(), Problem> {
    if authority.contains('@') {
        return Err(Problem::UserInfo);
    }
    if authority.contains(BEHIND) {
        return Err(Problem::Path);
    }
    Ok(())
}

/// A destination that cannot be granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot grant {what} {value:?}: {problem}")]
pub struct DestinationError {
    /// Which list it stands in: `http` or `tcp`.
    pub what: &'static str,
    /// The destination as it was written, without what stands before an `@` and behind the host and port.
    pub value: String,
    /// What is wrong with it.
    pub problem: Problem,
}

impl DestinationError {
    fn new(what: &'static str, value: &str, problem: Problem) -> Self {
        Self { what, value: shown(value), problem }
    }
}

/// A destination without what stands before an `@`, which may be a password, and behind host and port, where tokens stand.
fn shown(value: &str) -> String {
    let (scheme, rest) = value.split_at(value.find("://").map_or(0, |at| at + "://".len()));
    let at = rest.rfind('@');
    match (at, rest.find(BEHIND)) {
        (None, None) => value.to_owned(),
        (None, Some(end)) if rest[end..] == *"/" => value.to_owned(),
        (None, Some(end)) => format!("{scheme}{}…", &rest[..=end]),
        (Some(at), None) => format!("…{}", &rest[at..]),
        (Some(at), Some(end)) if at < end => format!("…{}…", &rest[at..=end]),
        // Which of them is meant as what it is, and what is part of a password, nobody can tell.
        (Some(_), Some(_)) => "…".to_owned(),
    }
}

/// What is wrong with a destination.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A host by itself.
    #[error("write its scheme as well, such as https://api.example.com")]
    NoScheme,
    /// Neither of the two.
    #[error("its scheme is neither http nor https")]
    Scheme,
    /// One where none belongs.
    #[error("write host and port without a scheme, such as db.internal:5432")]
    NoSchemeHere,
    /// A name or password before the host.
    #[error("it has a name or password before its host; credentials are headers of the grant")]
    UserInfo,
    /// Anything behind the host and port.
    #[error("it has more than scheme, host and port; remove what stands behind them, a slash too")]
    Path,
    /// A host by itself.
    #[error("write its port as well, such as db.internal:5432")]
    PortMissing,
    /// See there.
    #[error(transparent)]
    Port(#[from] PortProblem),
    /// See there.
    #[error(transparent)]
    Host(#[from] HostProblem),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    const HTTP: &str = include_str!("../vectors/http.txt");
    const TCP: &str = include_str!("../vectors/tcp.txt");
    const ASKED: &str = include_str!("../vectors/asked.txt");

    /// The result as the tables write it.
    fn verdict<T: fmt::Display>(result: Result<T, Problem>) -> String {
        match result {
            Ok(destination) => destination.to_string(),
            Err(Problem::NoScheme) => "no scheme".to_owned(),
            Err(Problem::Scheme) => "scheme".to_owned(),
            Err(Problem::NoSchemeHere) => "no scheme here".to_owned(),
            Err(Problem::UserInfo) => "userinfo".to_owned(),
            Err(Problem::Path) => "path".to_owned(),
            Err(Problem::PortMissing) => "port missing".to_owned(),
            Err(Problem::Port(PortProblem::NoPort)) => "no port".to_owned(),
            Err(Problem::Port(PortProblem::NoBrackets)) => "no brackets".to_owned(),
            Err(Problem::Host(HostProblem::NoHost)) => "no host".to_owned(),
            Err(Problem::Host(HostProblem::NoName)) => "no name".to_owned(),
            Err(Problem::Host(HostProblem::Star)) => "star".to_owned(),
            Err(Problem::Host(HostProblem::OddAddress(address))) => format!("odd {address}"),
        }
    }

    #[test]
    fn every_http_grant_gets_its_verdict() {
        vectors::check(HTTP, |text| verdict(HttpOrigin::parse(text).map_err(|error| error.problem)));
    }

    #[test]
    fn every_tcp_grant_gets_its_verdict() {
        vectors::check(TCP, |text| verdict(TcpDestination::parse(text).map_err(|error| error.problem)));
    }

    #[test]
    fn every_target_that_a_guest_asks_for_is_read_as_what_it_means_or_refused() {
        vectors::check(ASKED, |text| {
            let (scheme, authority) = text.split_once("://").unwrap();
            verdict(HttpTarget::parse(scheme, authority))
        });
    }

    #[test]
    fn a_grant_is_for_its_scheme_and_port_alone() {
        let origin = HttpOrigin::parse("https://api.example.com").unwrap();
        let asked = |scheme: &str, authority: &str| origin.matches(&HttpTarget::parse(scheme, authority).unwrap());
        assert!(asked("https", "api.example.com") && asked("HTTPS", "API.example.com.:443"));
        assert!(!asked("http", "api.example.com") && !asked("http", "api.example.com:443"));
        assert!(!asked("https", "api.example.com:80") && !asked("https", "api.example.com:8443"));
    }

    #[test]
    fn an_error_names_the_value_and_the_way_out_and_no_password() {
        let text = TcpDestination::parse("db.internal").unwrap_err().to_string();
        assert_eq!(text, "cannot grant tcp \"db.internal\": write its port as well, such as db.internal:5432");
        let text = HttpOrigin::parse("https://me:hunter2@api.example.com").unwrap_err().to_string();
        assert!(text.starts_with("cannot grant http \"…@api.example.com\": it has a name or password"), "{text}");
    }

    #[test]
    fn an_error_shows_neither_what_stands_before_a_host_nor_what_stands_behind_it() {
        for (written, wanted) in [
            ("https://a.example?hunter2", "https://a.example?…"),
            ("https://a.example#hunter2", "https://a.example#…"),
            ("https://hooks.example:1/services/hunter2", "https://hooks.example:1/…"),
            ("https://a.example\\hunter2", "https://a.example\\…"),
            ("https://a.example/", "https://a.example/"),
            ("https://a.example/?key=me@hunter2", "…"),
            ("https:///u:hunter2@a.example", "…"),
            ("//u:hunter2@x", "…"),
            ("u:hunter2@x", "…@x"),
            ("db:5432/?password=hunter2", "db:5432/…"),
            ("postgres://u:hunter2@db:5432/x?password=hunter2", "…@db:5432/…"),
            ("postgres://u:hun/ter2@db:5432/x", "…"),
        ] {
            let wrong = [HttpOrigin::parse(written).err(), TcpDestination::parse(written).err()];
            let wrong: Vec<_> = wrong.into_iter().flatten().map(|error| error.value).collect();
            assert!(!wrong.is_empty() && wrong.iter().all(|value| value == wanted), "{written}: {wrong:?}");
        }
    }

    #[test]
    fn whatever_the_text_what_comes_out_is_read_as_itself() {
        let mut chance = vectors::Chance::new(5);
        for _ in 0..50_000 {
            let text = chance.text("ab.*:/@[]1480%\\?#-");
            let url = format!("https://{text}");
            if let Ok(origin) = HttpOrigin::parse(&url) {
                assert_eq!(HttpOrigin::parse(&origin.to_string()), Ok(origin), "{text:?}");
            }
            if let Ok(destination) = TcpDestination::parse(&text) {
                assert_eq!(TcpDestination::parse(&destination.to_string()), Ok(destination), "{text:?}");
            }
            let _ = HttpTarget::parse("http", &text);
        }
    }
}
