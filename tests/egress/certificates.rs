//! TLS: the other side is who it should be, or hears nothing.

use gristmill_egress::{SendError, StartError};
use gristmill_tests::TemporaryFolder;
use openssl::ssl::SslVersion;

use crate::server::{Server, ok};
use crate::tls::{Authority, Subject};
use crate::world::{Grants, grants};

fn named(name: &str) -> Subject<'_> {
    Subject { names: std::slice::from_ref(Box::leak(Box::new(name))), addresses: &[], has_expired: false }
}

/// Grants for a server that is called `api.example.com`.
fn to(server: &Server) -> (Grants, String) {
    let url = format!("https://api.example.com:{}", server.port());
    (grants().http(&url).name("api.example.com", &[&["127.0.0.1"]]), url)
}

#[tokio::test]
async fn a_server_whose_authority_is_trusted_and_whose_name_is_right_gets_the_request() {
    let authority = Authority::new();
    for newest in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        let (server, asked) = authority.server(&named("api.example.com"), newest);
        let (grants, url) = to(&server);
        let world = grants.ca_file(authority.file()).start();
        for _ in 0..3 {
            assert_eq!(world.ask(&url).await.unwrap().body, "hello");
        }
        assert_eq!(*asked.lock().unwrap(), [Some("api.example.com".to_owned())], "one handshake, with the name");
        assert_eq!(server.requests().len(), 3);
    }
}

#[tokio::test]
async fn a_server_whose_certificate_is_not_trusted_gets_no_request() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let expired = Subject { has_expired: true, ..named("api.example.com") };
    for (signer, subject) in [
        (&stranger, named("api.example.com")),
        (&authority, named("other.example.com")),
        (&authority, named("example.com")),
        (&authority, named("*.api.example.com")),
        (&authority, named("*.com")),
        (&authority, Subject { names: &[], addresses: &["127.0.0.1"], has_expired: false }),
        (&authority, expired),
    ] {
        let (server, _) = signer.server(&subject, SslVersion::TLS1_3);
        let (grants, url) = to(&server);
        let error = grants.ca_file(authority.file()).start().ask(&url).await.unwrap_err();
        let is_certificate = matches!(error, SendError::Certificate { .. });
        assert!(is_certificate, "{:?}: {error:?}", subject.names);
        server.wait_for_closed(1);
        assert_eq!(server.requests(), [""; 0]);
    }
}

#[tokio::test]
async fn an_authority_of_ones_own_is_not_trusted_without_its_file() {
    let authority = Authority::new();
    let (server, _) = authority.server(&named("api.example.com"), SslVersion::TLS1_3);
    let (grants, url) = to(&server);
    let error = grants.start().ask(&url).await.unwrap_err();
    assert!(matches!(error, SendError::Certificate { .. }), "{error:?}");
}

#[tokio::test]
async fn a_server_that_is_granted_by_address_has_to_have_a_certificate_for_it() {
    let authority = Authority::new();
    let ask = async |subject: &Subject<'_>| {
        let (server, asked) = authority.server(subject, SslVersion::TLS1_3);
        let url = format!("https://{}", server.address);
        let answer = grants().http(&url).ca_file(authority.file()).start().ask(&url).await;
        (answer, asked.lock().unwrap().clone())
    };
    let (answer, asked) = ask(&Subject { names: &[], addresses: &["127.0.0.1"], has_expired: false }).await;
    assert_eq!((answer.unwrap().body.as_str(), asked), ("hello", vec![None]), "an address is not sent as a name");
    let (answer, _) = ask(&Subject { names: &["127.0.0.1"], addresses: &["127.0.0.2"], has_expired: false }).await;
    assert!(matches!(answer, Err(SendError::Certificate { .. })), "{answer:?}");
}

#[tokio::test]
async fn tls_before_version_1_2_is_not_spoken() {
    let authority = Authority::new();
    let (server, _) = authority.server(&named("api.example.com"), SslVersion::TLS1_1);
    let (grants, url) = to(&server);
    let error = grants.ca_file(authority.file()).start().ask(&url).await.unwrap_err();
    assert!(matches!(error, SendError::Tls { .. }), "{error:?}");
    assert_eq!(server.requests(), [""; 0]);
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_not_spoken_to_in_the_clear() {
    let server = Server::start(|arrived| {
        arrived.write(&ok("hello"));
        arrived.wait_for_end();
    });
    let (grants, url) = to(&server);
    let error = grants.start().ask(&url).await.unwrap_err();
    assert!(matches!(error, SendError::Tls { .. }), "{error:?}");
    server.wait_for_closed(1);
}

#[test]
fn a_file_without_certificates_is_refused_at_the_start() {
    let folder = TemporaryFolder::new();
    let start = |path| {
        let rules = gristmill_egress::Rules {
            http: vec![
                gristmill_egress::HttpGrant::new(
                    gristmill_egress::destination::HttpOrigin::parse("https://api.example.com").unwrap(),
                    [],
                )
                .unwrap(),
            ],
            ca_file: Some(path),
            ..Default::default()
        };
        gristmill_egress::Egress::start(rules, gristmill_egress::SystemNetwork).unwrap_err()
    };
    assert!(matches!(start(folder.write("empty.pem", "")), StartError::NoCertificates { .. }));
    assert!(matches!(start(folder.path().join("missing.pem")), StartError::Certificates { .. }));
}
