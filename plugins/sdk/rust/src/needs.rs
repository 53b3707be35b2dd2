//! What a plugin needs from the host's configuration.

/// Something that a plugin needs, and what for. What is not granted keeps it from being loaded; what it does not ask for it does
/// not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What is needed.
    pub what: Needed,
    /// What for, for the person who grants it.
    pub why: String,
}

/// What a plugin may need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needed {
    /// A setting of this name.
    Setting(String),
    /// HTTP requests.
    Http,
    /// TCP connections.
    Tcp,
    /// A folder of files, by the absolute path that the plugin reads.
    Files(String),
}

impl Need {
    /// A setting without which the plugin cannot work.
    pub fn setting(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: Needed::Setting(name.into()), why: why.into() }
    }

    /// HTTP requests, to wherever the configuration says.
    pub fn http(why: impl Into<String>) -> Self {
        Self { what: Needed::Http, why: why.into() }
    }

    /// TCP connections, to wherever the configuration says.
    pub fn tcp(why: impl Into<String>) -> Self {
        Self { what: Needed::Tcp, why: why.into() }
    }

    /// A folder of files, by the absolute path that the plugin reads.
    pub fn files(mount: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: Needed::Files(mount.into()), why: why.into() }
    }
}
