//! TLS for the client, by the OpenSSL that the Kafka client brings: one library to keep up to date, one store of certificates.
//!
//! It does not know HTTP.

use std::fmt;
use std::io::{Read as _, Write as _};
use std::path::Path;

use openssl::error::ErrorStack;
use openssl::ssl::{HandshakeError, SslConnector, SslMethod, SslStream, SslVersion};
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::{X509, X509VerifyResult};
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport, TransportAdapter,
};

use super::settings::RegistryError;
use crate::schema_file;

/// Puts TLS around a connection where the address asks for it.
pub(super) struct TlsConnector(SslConnector);

impl TlsConnector {
    /// Trusts the authorities of the file, or those of the system.
    pub(super) fn new(ca_file: Option<&Path>) -> Result<Self, RegistryError> {
        let failed = |error: ErrorStack| RegistryError::Tls(error.to_string());
        let mut builder = SslConnector::builder(SslMethod::tls_client()).map_err(failed)?;
        builder.set_min_proto_version(Some(SslVersion::TLS1_2)).map_err(failed)?;
        match ca_file {
            Some(path) => {
                let pem = schema_file::read(path)
                    .map_err(|source| RegistryError::Certificates { path: path.to_owned(), source })?;
                let authorities = X509::stack_from_pem(&pem).map_err(failed)?;
                if authorities.is_empty() {
                    return Err(RegistryError::Tls(format!("{} holds no certificate", path.display())));
                }
                let mut store = X509StoreBuilder::new().map_err(failed)?;
                authorities.into_iter().try_for_each(|authority| store.add_cert(authority)).map_err(failed)?;
                builder.set_cert_store(store.build());
            }
            // An OpenSSL that was built along looks where it was built, not where the system has its certificates.
            None => {
                let found = openssl_probe::probe();
                if found.cert_file.is_some() || !found.cert_dir.is_empty() {
                    for folder in &found.cert_dir {
                        builder.load_verify_locations(None, Some(folder)).map_err(failed)?;
                    }
                    if let Some(file) = &found.cert_file {
                        builder.load_verify_locations(Some(file), None).map_err(failed)?;
                    }
                }
            }
        }
        Ok(Self(builder.build()))
    }
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsConnector")
    }
}

impl<In: Transport> Connector<In> for TlsConnector {
    type Out = Either<In, TlsTransport>;

    fn connect(&self, details: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Self::Out>, Error> {
        let Some(transport) = chained else { return Ok(None) };
        if !details.needs_tls() {
            return Ok(Some(Either::A(transport)));
        }
        let host = details.uri.host().ok_or(Error::HostNotFound)?;
        // The name that a certificate is compared with has no brackets, as an address has in a URL.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let mut adapter = TransportAdapter::new(transport.boxed(), details.current_time.clone());
        adapter.set_timeout(details.timeout);
        let stream = self.0.connect(host, adapter).map_err(|error| Error::Other(described(&error).into()))?;
        let buffers = LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(Either::B(TlsTransport { buffers, stream })))
    }
}

/// Why there is no connection. That the certificate is not trusted is not in the error itself.
fn described<S>(error: &HandshakeError<S>) -> String {
    match error {
        HandshakeError::SetupFailure(error) => error.to_string(),
        HandshakeError::Failure(broken) | HandshakeError::WouldBlock(broken) => match broken.ssl().verify_result() {
            X509VerifyResult::OK => broken.error().to_string(),
            distrust => format!("its certificate is not trusted: {distrust}"),
        },
    }
}

/// A connection with TLS around it.
pub(super) struct TlsTransport {
    buffers: LazyBuffers,
    stream: SslStream<TransportAdapter>,
}

impl fmt::Debug for TlsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsTransport")
    }
}

impl Transport for TlsTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.get_mut().set_timeout(timeout);
        let output = &self.buffers.output()[..amount];
        self.stream.write_all(output).map_err(Error::from)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.get_mut().set_timeout(timeout);
        let input = self.buffers.input_append_buf();
        let amount = self.stream.read(input)?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}
