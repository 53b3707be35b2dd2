//! Names that resolve to what they should not, once or now and then: nothing is dialled that was not judged.

use gristmill_egress::SendError;

use crate::server::{Server, ip, ok};
use crate::world::{denied, grants, until_kept};

/// An answer after which the connection is closed, so that the next request looks its name up again.
const CLOSING: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";

/// B22: the address that is judged is the one that is dialled.
#[tokio::test]
async fn a_name_that_moves_to_a_refused_address_is_refused_from_then_on() {
    let granted = Server::start(|arrived| {
        arrived.request();
        arrived.write(CLOSING.as_bytes());
    });
    let refused = Server::beside(&granted, "127.0.0.2");
    let url = format!("http://rebind.example:{}", granted.port());
    let world = grants().http(&url).name("rebind.example", &[&["127.0.0.1"], &["127.0.0.2"]]).start();
    assert_eq!(world.ask(&url).await.unwrap().status, 200);
    for _ in 0..3 {
        let text = denied(world.ask(&url).await);
        assert_eq!(
            text,
            format!("{url} leads to 127.0.0.2, which is loopback: add plugin.grants.addresses = [\"127.0.0.2/32\"]")
        );
    }
    assert_eq!(world.book.dialled(), [granted.address]);
    refused.saw_nothing();
}

#[tokio::test]
async fn a_name_that_changes_with_every_look_up_is_dialled_only_when_it_is_granted() {
    let granted = Server::start(|arrived| {
        arrived.request();
        arrived.write(CLOSING.as_bytes());
    });
    let refused = Server::beside(&granted, "127.0.0.2");
    let url = format!("http://rebind.example:{}", granted.port());
    let answers: Vec<&[&str]> =
        (0..20).map(|n| if n % 2 == 0 { &["127.0.0.1"][..] } else { &["127.0.0.2"][..] }).collect();
    let world = grants().http(&url).name("rebind.example", &answers).start();
    for n in 0..20 {
        let answer = world.ask(&url).await;
        assert_eq!(answer.is_ok(), n % 2 == 0, "{n}: {answer:?}");
    }
    assert_eq!(world.book.resolved().len(), 20, "one look-up for each request");
    assert_eq!(world.book.dialled(), vec![granted.address; 10]);
    refused.saw_nothing();
}

#[tokio::test]
async fn an_answer_of_good_and_bad_addresses_is_refused_as_a_whole() {
    let granted = Server::silent();
    let refused = Server::beside(&granted, "127.0.0.2");
    let url = format!("http://mixed.example:{}", granted.port());
    for answer in [
        &["127.0.0.1", "127.0.0.2"][..],
        &["127.0.0.2", "127.0.0.1"],
        &["93.184.215.14", "10.0.0.1"],
        &["127.0.0.1", "::1"],
        &["127.0.0.1", "::ffff:127.0.0.1"],
        &["93.184.215.14", "169.254.169.254", "127.0.0.1"],
    ] {
        let world = grants().http(&url).name("mixed.example", &[answer]).start();
        assert!(denied(world.ask(&url).await).contains("leads to"), "{answer:?}");
        assert_eq!(world.book.dialled(), [], "{answer:?}");
    }
    granted.saw_nothing();
    refused.saw_nothing();
}

#[tokio::test]
async fn a_name_that_resolves_to_a_special_address_is_refused_and_not_dialled() {
    for (address, kind) in [
        ("127.0.0.2", "loopback"),
        ("::1", "loopback"),
        ("10.96.0.1", "private"),
        ("172.17.0.1", "private"),
        ("192.168.1.1", "private"),
        ("169.254.169.254", "cloud metadata"),
        ("168.63.129.16", "cloud metadata"),
        ("fd00:ec2::254", "cloud metadata"),
        ("169.254.1.1", "link-local"),
        ("fe80::1", "link-local"),
        ("fd00::1", "unique local"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("224.0.0.1", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("255.255.255.255", "broadcast"),
        ("::ffff:127.0.0.1", "127.0.0.1 in disguise (IPv4-mapped), which is loopback"),
        ("::ffff:8.8.8.8", "8.8.8.8 in disguise (IPv4-mapped)"),
        ("64:ff9b::7f00:1", "127.0.0.1 in disguise (NAT64), which is loopback"),
        ("2002:7f00:1::1", "127.0.0.1 in disguise (6to4), which is loopback"),
    ] {
        let world = grants().http("https://odd.example").name("odd.example", &[&[address]]).start();
        let text = denied(world.ask("https://odd.example/").await);
        assert!(
            text.starts_with(&format!("https://odd.example:443 leads to {address}, which is {kind}: add ")),
            "{text}"
        );
        assert_eq!(world.book.dialled(), [], "{address}");
    }
}

#[tokio::test]
async fn a_public_address_is_dialled_as_it_was_judged() {
    let world = grants().http("https://public.example").name("public.example", &[&["93.184.215.14"]]).start();
    let error = world.ask("https://public.example/").await.unwrap_err();
    assert!(matches!(error, SendError::Connect { .. }), "the tests' network refuses it: {error:?}");
    assert_eq!(world.book.dialled(), ["93.184.215.14:443".parse().unwrap()]);
    assert_eq!(world.book.resolved(), ["public.example"]);
}

#[tokio::test]
async fn the_addresses_of_one_answer_are_tried_in_order_and_no_others() {
    let server = Server::answering(ok("hello"));
    let url = format!("http://several.example:{}", server.port());
    let answer: &[&str] = &["127.0.0.3", "127.0.0.4", "127.0.0.1", "127.0.0.5"];
    let world =
        grants().addresses("127.0.0.0/29").http(&url).name("several.example", &[answer, &["127.0.0.2"]]).start();
    assert_eq!(world.ask(&url).await.unwrap().body, "hello");
    let dialled: Vec<_> = world.book.dialled().iter().map(std::net::SocketAddr::ip).collect();
    assert_eq!(dialled, [ip("127.0.0.3"), ip("127.0.0.4"), ip("127.0.0.1")], "nobody listens on the first two");
    assert_eq!(world.book.resolved().len(), 1, "looked up once");
}

#[tokio::test]
async fn a_kept_connection_stays_with_its_address_wherever_the_name_moves() {
    let server = Server::answering(ok("hello"));
    let refused = Server::beside(&server, "127.0.0.2");
    let url = format!("http://moving.example:{}", server.port());
    let world = grants().http(&url).name("moving.example", &[&["127.0.0.1"]]).start();
    world.ask(&url).await.unwrap();
    world.book.moves("moving.example", &["127.0.0.2"]);
    until_kept(&world, &url).await;
    assert_eq!(world.book.dialled(), [server.address]);
    refused.saw_nothing();
}
