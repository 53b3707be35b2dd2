//! A registry behind TLS: trusted where its certificate is, and only there.

use std::net::TcpListener;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use gristmill_decode::{Failure, Format, Registry, RegistryError, RegistrySettings, Source};
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::ssl::{SslAcceptor, SslMethod};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder};

use crate::fake_registry::{Reply, answer_once, client, decoder};
use crate::{Folder, file, framed, text};

/// A certificate that vouches for itself, for that name or address, and its key.
fn certificate(name: &str) -> (X509, PKey<Private>) {
    let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    let mut subject = X509NameBuilder::new().unwrap();
    subject.append_entry_by_text("CN", "test").unwrap();
    let subject = subject.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_serial_number(&BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&subject).unwrap();
    builder.set_issuer_name(&subject).unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(1).unwrap()).unwrap();
    builder.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap();
    let mut names = SubjectAlternativeName::new();
    if name.parse::<std::net::IpAddr>().is_ok() {
        names.ip(name)
    } else {
        names.dns(name)
    };
    let names = names.build(&builder.x509v3_context(None, None)).unwrap();
    builder.append_extension(names).unwrap();
    builder.sign(&key, MessageDigest::sha256()).unwrap();
    (builder.build(), key)
}

/// Serves schema 1 to whoever comes first, and returns the port and the thread that says whether it was asked.
fn serve(certificate: &X509, key: &PKey<Private>) -> (u16, JoinHandle<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).unwrap();
    acceptor.set_private_key(key).unwrap();
    acceptor.set_certificate(certificate).unwrap();
    let acceptor = acceptor.build();
    let served = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let stream = acceptor.accept(stream);
        stream.is_ok_and(|mut stream| answer_once(&mut stream, Reply::schema("AVRO", "\"int\"")).is_ok())
    });
    (port, served)
}

fn settings(url: String, ca_file: Option<std::path::PathBuf>) -> RegistrySettings {
    RegistrySettings { ca_file, request_time_max: Duration::from_secs(5), ..RegistrySettings::new(url) }
}

#[test]
fn a_registry_whose_certificate_is_trusted_is_asked() {
    let folder = Folder::new("tls-trusted");
    let (certificate, key) = certificate("127.0.0.1");
    let ca_file = file(&folder, "ca.pem", &certificate.to_pem().unwrap());
    let (port, served) = serve(&certificate, &key);
    let registry = client(settings(format!("https://127.0.0.1:{port}"), Some(ca_file)));
    assert_eq!(text(&decoder(&Format::Avro(Source::Registry), &registry), &framed(1, &[2])), "1");
    assert!(served.join().unwrap());
}

#[test]
fn a_registry_whose_certificate_is_not_trusted_or_of_another_is_told_nothing() {
    let folder = Folder::new("tls-untrusted");
    let (other, _) = certificate("127.0.0.1");
    let strangers = file(&folder, "other.pem", &other.to_pem().unwrap());
    let (wrong_name, wrong_key) = certificate("somebody.example");
    let wrong = file(&folder, "wrong.pem", &wrong_name.to_pem().unwrap());
    let (own, own_key) = certificate("127.0.0.1");
    for (certificate, key, ca_file) in
        [(&own, &own_key, None), (&own, &own_key, Some(strangers)), (&wrong_name, &wrong_key, Some(wrong))]
    {
        let (port, served) = serve(certificate, key);
        let registry = client(settings(format!("https://127.0.0.1:{port}"), ca_file));
        let record = framed(1, &[2]);
        let failure = decoder(&Format::Avro(Source::Registry), &registry).decode(&record, Instant::now());
        match failure {
            Err(Failure::Unavailable { reason, .. }) => assert!(reason.as_str().contains("not trusted"), "{reason}"),
            other => panic!("it is not unavailable: {other:?}"),
        }
        assert!(!served.join().unwrap());
    }
}

#[test]
fn a_handshake_that_does_not_come_is_waited_for_within_a_bound() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let settings = RegistrySettings { request_time_max: Duration::from_millis(300), ..RegistrySettings::new(url) };
    let (begun, record) = (Instant::now(), framed(1, &[2]));
    let failure = decoder(&Format::Avro(Source::Registry), &client(settings)).decode(&record, Instant::now());
    assert!(matches!(failure, Err(Failure::Unavailable { .. })), "{failure:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn certificates_that_cannot_be_used_are_refused_at_once() {
    let folder = Folder::new("tls-files");
    let empty = file(&folder, "empty.pem", b"nothing");
    let error = Registry::new(settings("https://h".to_owned(), Some(empty))).unwrap_err();
    assert!(matches!(&error, RegistryError::Tls(text) if text.contains("no certificate")), "{error}");
    let error = Registry::new(settings("https://h".to_owned(), Some(folder.0.join("nowhere.pem")))).unwrap_err();
    assert!(matches!(error, RegistryError::Certificates { .. }), "{error}");
}
