//! TLS by the OpenSSL that the Kafka client brings: one library to keep up to date, one store of certificates.
//!
//! It knows no HTTP and no policy.

use std::path::Path;
use std::pin::Pin;

use openssl::error::ErrorStack;
use openssl::ssl::{SslConnector, SslConnectorBuilder, SslMethod, SslVersion};
use openssl::x509::{X509, X509VerifyResult};
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

use crate::egress::StartError;

/// TLS 1.2 or later; the authorities of the system, and those of the file besides.
pub(crate) fn connector(ca_file: Option<&Path>) -> Result<SslConnector, StartError> {
    Ok(settings(ca_file)?.build())
}

fn settings(ca_file: Option<&Path>) -> Result<SslConnectorBuilder, StartError> {
    let mut builder = SslConnector::builder(SslMethod::tls_client())?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2))?;
    builder.set_alpn_protos(b"\x08http/1.1")?;
    // An OpenSSL that was built along looks where it was built, not where the system has its certificates.
    let found = openssl_probe::probe();
    for folder in &found.cert_dir {
        builder.load_verify_locations(None, Some(folder))?;
    }
    if let Some(file) = &found.cert_file {
        builder.load_verify_locations(Some(file), None)?;
    }
    if let Some(path) = ca_file {
        let failed = |source| StartError::Certificates { path: path.to_owned(), source };
        let authorities = X509::stack_from_pem(&std::fs::read(path).map_err(failed)?)?;
        if authorities.is_empty() {
            return Err(StartError::NoCertificates { path: path.to_owned() });
        }
        authorities.into_iter().try_for_each(|authority| builder.cert_store_mut().add_cert(authority))?;
    }
    Ok(builder)
}

/// Why there is no TLS.
pub(crate) enum Failed {
    /// Whoever is there is not who should be.
    Certificate(String),
    /// Anything else.
    Other(String),
}

/// Puts TLS around a connection. The certificate has to be for that name or address, which goes to the other side too where it is a name.
pub(crate) async fn handshake(
    connector: &SslConnector,
    host: &str,
    stream: TcpStream,
) -> Result<SslStream<TcpStream>, Failed> {
    let set_up = |error: ErrorStack| Failed::Other(error.to_string());
    let ssl = connector.configure().and_then(|configuration| configuration.into_ssl(host)).map_err(set_up)?;
    let mut stream = SslStream::new(ssl, stream).map_err(set_up)?;
    match Pin::new(&mut stream).connect().await {
        Ok(()) => Ok(stream),
        // That the certificate is not trusted is not in the error itself.
        Err(error) => Err(match stream.ssl().verify_result() {
            X509VerifyResult::OK => Failed::Other(error.to_string()),
            distrust => Failed::Certificate(distrust.to_string()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most builds of OpenSSL refuse older versions by themselves; here it is asked whether we do.
    #[test]
    fn versions_before_1_2_are_switched_off_and_certificates_are_verified() {
        let mut settings = settings(None).unwrap();
        assert_eq!(settings.min_proto_version(), Some(SslVersion::TLS1_2));
        assert_eq!(settings.build().context().verify_mode(), openssl::ssl::SslVerifyMode::PEER);
    }
}
