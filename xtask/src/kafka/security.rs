//! A listener with TLS and passwords: its certificate, made by the JDK's own tool, and its lines of `server.properties`.
//!
//! It must not know who comes to it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::port;
use crate::tools;

/// The user that a secure listener knows, by any of its mechanisms.
pub const USER: &str = "grinder";
/// The user's password.
pub const PASSWORD: &str = "not-a-secret-at-all";
/// The mechanisms of a secure listener.
pub const MECHANISMS: &[&str] = &["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"];

/// What protects the key store. It is gone with the folder it lies in.
const STORE_PASSWORD: &str = "changeit";

/// A key and a certificate for it that nobody signed but itself.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// Key and certificate, as Java keeps them (PKCS #12).
    pub key_store: PathBuf,
    /// The certificate alone, as everybody else does (PEM): to be trusted by clients.
    pub pem: PathBuf,
}

impl Certificate {
    /// Makes one for 127.0.0.1, as files in a folder that begin with `name`.
    ///
    /// # Errors
    ///
    /// When the JDK's tool is missing or fails.
    pub fn make(folder: &Path, name: &str) -> Result<Self> {
        let key_store = folder.join(format!("{name}.p12"));
        let pem = folder.join(format!("{name}.pem"));
        let named = ["-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1", "-ext", "bc=ca:true", "-validity", "2"];
        keytool(&key_store, &[&["-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1"][..], &named].concat())?;
        keytool(&key_store, &["-exportcert", "-rfc", "-file", &pem.display().to_string()])?;
        Ok(Self { key_store, pem })
    }
}

/// Where a secure listener is, and what it shows.
#[derive(Clone, Debug)]
pub(super) struct SecureListener {
    port: u16,
    certificate: Certificate,
}

impl SecureListener {
    pub(super) fn make(folder: &Path) -> Result<Self> {
        Ok(Self { port: port::free()?, certificate: Certificate::make(folder, "broker")? })
    }

    pub(super) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(super) fn certificate(&self) -> &Path {
        &self.certificate.pem
    }

    /// The lines of `server.properties` that add it to the other two listeners.
    pub(super) fn properties(&self, port: u16, controller_port: u16) -> Vec<(String, String)> {
        let plain = format!("PLAINTEXT://127.0.0.1:{port}");
        let secure = format!("SECURE://{}", self.address());
        let of_listener = |key: &str, value: String| (format!("listener.name.secure.{key}"), value);
        let jaas = "sasl.jaas.config";
        let security = "org.apache.kafka.common.security";
        let scram = format!("{security}.scram.ScramLoginModule required;");
        let known = format!("{security}.plain.PlainLoginModule required user_{USER}=\"{PASSWORD}\";");
        vec![
            ("listeners".to_owned(), format!("{plain},{secure},CONTROLLER://127.0.0.1:{controller_port}")),
            ("advertised.listeners".to_owned(), format!("{plain},{secure}")),
            (
                "listener.security.protocol.map".to_owned(),
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL".to_owned(),
            ),
            of_listener("ssl.keystore.type", "PKCS12".to_owned()),
            of_listener("ssl.keystore.location", self.certificate.key_store.display().to_string()),
            of_listener("ssl.keystore.password", STORE_PASSWORD.to_owned()),
            of_listener("ssl.key.password", STORE_PASSWORD.to_owned()),
            of_listener("sasl.enabled.mechanisms", MECHANISMS.join(",")),
            of_listener(&format!("scram-sha-512.{jaas}"), scram.clone()),
            of_listener(&format!("scram-sha-256.{jaas}"), scram),
            of_listener(&format!("plain.{jaas}"), known),
        ]
    }
}

/// One call of the JDK's tool, about a key store.
fn keytool(key_store: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = tools::keytool();
    command.args(arguments).args(["-alias", "broker", "-storetype", "PKCS12", "-storepass", STORE_PASSWORD]);
    let output = command.arg("-keystore").arg(key_store).output();
    let output = output.context("cannot start keytool, which every Java brings along")?;
    if !output.status.success() {
        bail!("keytool failed: {}", String::from_utf8_lossy(&output.stdout).trim());
    }
    Ok(())
}
