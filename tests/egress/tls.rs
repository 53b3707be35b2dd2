//! Servers with TLS, and an authority that exists for one test.
//!
//! They know no HTTP but where a request ends.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use gristmill_tests::TemporaryFolder;
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{AlpnError, NameType, SslAcceptor, SslMethod, SslVersion};
use openssl::x509::extension::{BasicConstraints, KeyUsage, SubjectAlternativeName};
use openssl::x509::{X509, X509Builder, X509Name, X509NameBuilder};

use crate::server::Server;

/// An authority, and the folder in which its certificate lies.
pub(crate) struct Authority {
    key: PKey<Private>,
    certificate: X509,
    folder: TemporaryFolder,
}

/// For whom a certificate is, and for how long.
pub(crate) struct Subject<'a> {
    pub(crate) names: &'a [&'a str],
    pub(crate) addresses: &'a [&'a str],
    pub(crate) has_expired: bool,
}

fn new_key() -> PKey<Private> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

fn named(name: &str) -> X509Name {
    let mut builder = X509NameBuilder::new().unwrap();
    builder.append_entry_by_text("CN", name).unwrap();
    builder.build()
}

fn begun(name: &str, serial: u32, key: &PKey<Private>) -> X509Builder {
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_serial_number(&BigNum::from_u32(serial).unwrap().to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&named(name)).unwrap();
    builder.set_pubkey(key).unwrap();
    builder
}

fn lasts(builder: &mut X509Builder, from: i64, to: i64) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
    builder.set_not_before(&Asn1Time::from_unix(now + from).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::from_unix(now + to).unwrap()).unwrap();
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = new_key();
        let mut builder = begun("authority of a test", 1, &key);
        builder.set_issuer_name(&named("authority of a test")).unwrap();
        lasts(&mut builder, -3600, 3600);
        builder.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap();
        builder.append_extension(KeyUsage::new().critical().key_cert_sign().build().unwrap()).unwrap();
        builder.sign(&key, MessageDigest::sha256()).unwrap();
        Self { key, certificate: builder.build(), folder: TemporaryFolder::new() }
    }

    /// The file that trusts it.
    pub(crate) fn file(&self) -> PathBuf {
        let pem = String::from_utf8(self.certificate.to_pem().unwrap()).unwrap();
        self.folder.write("authority.pem", &pem)
    }

    /// A server with a certificate of this authority, of versions up to that one. It answers every request with `hello`, and writes down
    /// which name and protocols were asked for.
    pub(crate) fn server(
        &self,
        subject: &Subject<'_>,
        newest: SslVersion,
    ) -> (Server, Arc<Mutex<Vec<Option<String>>>>) {
        let key = new_key();
        let mut builder = begun("server of a test", 2, &key);
        builder.set_issuer_name(self.certificate.subject_name()).unwrap();
        let (from, to) = if subject.has_expired { (-7200, -3600) } else { (-3600, 3600) };
        lasts(&mut builder, from, to);
        let mut names = SubjectAlternativeName::new();
        subject.names.iter().for_each(|name| _ = names.dns(name));
        subject.addresses.iter().for_each(|address| _ = names.ip(address));
        let extension = names.build(&builder.x509v3_context(Some(&self.certificate), None)).unwrap();
        builder.append_extension(extension).unwrap();
        builder.sign(&self.key, MessageDigest::sha256()).unwrap();

        let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).unwrap();
        acceptor.set_private_key(&key).unwrap();
        acceptor.set_certificate(&builder.build()).unwrap();
        acceptor.set_min_proto_version(None).unwrap();
        acceptor.set_max_proto_version(Some(newest)).unwrap();
        // Old versions are refused by the library's own level of security otherwise, before the client is asked.
        acceptor.set_cipher_list("ALL:@SECLEVEL=0").unwrap();
        acceptor.set_alpn_select_callback(|_, offered| {
            if offered == b"\x08http/1.1" { Ok(b"http/1.1") } else { Err(AlpnError::ALERT_FATAL) }
        });
        let (acceptor, asked) = (acceptor.build(), Arc::new(Mutex::new(Vec::new())));
        let seen = Arc::clone(&asked);
        let server = Server::start(move |arrived| {
            let Ok(mut stream) = acceptor.accept(arrived.stream.try_clone().unwrap()) else { return };
            seen.lock().unwrap().push(stream.ssl().servername(NameType::HOST_NAME).map(str::to_owned));
            let (mut request, mut piece) = (Vec::new(), [0; 4096]);
            while let Some(length) = stream.read(&mut piece).ok().filter(|length| *length > 0) {
                request.extend_from_slice(&piece[..length]);
                if request.ends_with(b"\r\n\r\n") {
                    arrived.note(std::mem::take(&mut request));
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").unwrap();
                }
            }
        });
        (server, asked)
    }
}
