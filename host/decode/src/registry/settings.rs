//! What an operator says about a registry.
//!
//! It asks nobody.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Where a registry is, who we are to it, and how much it may cost.
#[derive(Clone, Debug)]
pub struct RegistrySettings {
    /// Its address up to the path that Confluent's interface begins at: `https://registry:8081`.
    pub url: String,
    /// Who we are.
    pub auth: Option<RegistryAuth>,
    /// Certificates (PEM) of authorities to trust; without them, those of the system.
    pub ca_file: Option<PathBuf>,
    /// How long one request may take, from the look-up of the name to the last byte.
    pub request_time_max: Duration,
    /// How long a schema may take with all that it refers to. Beyond it the registry counts as unavailable.
    pub answer_time_max: Duration,
    /// How large one answer may be. A schema that is larger cannot be used.
    pub answer_bytes_max: usize,
    /// How many schemas one may refer to, directly or not. One with more cannot be used.
    pub references_max: usize,
    /// How long a chain of references may be. One with a longer chain, or without an end, cannot be used.
    pub reference_depth_max: usize,
    /// How many schemas are kept ready. Beyond it the one goes that was not used for longest.
    pub schemas_max: usize,
    /// How many bytes of schema texts are kept ready, as `schemas_max`.
    pub schemas_bytes_max: usize,
}

impl RegistrySettings {
    /// The usual bounds.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            auth: None,
            ca_file: None,
            request_time_max: Duration::from_secs(10),
            answer_time_max: Duration::from_secs(30),
            answer_bytes_max: 1 << 20,
            references_max: 64,
            reference_depth_max: 16,
            schemas_max: 1000,
            schemas_bytes_max: 64 << 20,
        }
    }

    /// Says what is wrong with the address, before anybody is asked.
    ///
    /// # Errors
    /// [`RegistryError::Url`], which does not repeat it.
    pub fn check_url(&self) -> Result<(), RegistryError> {
        super::client::base(&self.url).map(drop)
    }
}

/// Who we are to a registry.
#[derive(Clone, Debug)]
pub enum RegistryAuth {
    /// A user and a password.
    Basic {
        /// The user.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A token.
    Bearer(Secret),
}

/// A text that never prints.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a text in.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that needs it.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Why a registry cannot be used as it is set up.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// What is given as its address is none. It is not repeated: it may hold a password.
    #[error("the url of the registry {0}; it looks like https://registry:8081")]
    Url(&'static str),
    /// What we are to say about ourselves cannot be said in a header.
    #[error("the registry's user, password or token holds characters that no header can carry")]
    Credentials,
    /// The certificates cannot be read.
    #[error("cannot read the certificates {}: {source}", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// TLS cannot be set up.
    #[error("cannot set up tls to the registry: {0}; correct the file with its certificates")]
    Tls(String),
}
