//! Names that a guest looks up by itself, and the connections that it may open then.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use gristmill_egress::destination::TcpDestination;
use gristmill_egress::{LookUpError, LookUpFailed, LookedUp, Resolved};

use crate::server::{PATIENCE, ip};
use crate::world::{World, grants};

async fn look_up(world: &World, name: &str) -> Result<LookedUp, LookUpError> {
    world.egress.look_up(name, Instant::now() + PATIENCE).await
}

async fn denied(world: &World, name: &str) -> String {
    match look_up(world, name).await {
        Err(LookUpError::Denied(denied)) => denied.to_string(),
        other => panic!("not denied: {other:?}"),
    }
}

fn at(address: &str) -> SocketAddr {
    address.parse().unwrap()
}

#[tokio::test]
async fn a_granted_name_is_looked_up_and_its_addresses_may_be_connected_to_at_its_port() {
    let world = grants().tcp("db.internal:5432").addresses("10.0.3.0/24");
    let world = world.name("db.internal", &[&["10.0.3.7", "10.0.3.8"]]).start();
    let mut resolved = Resolved::default();
    assert!(world.egress.may_connect(at("10.0.3.7:5432"), &resolved).is_err(), "not before it was looked up");
    let answer = look_up(&world, "DB.Internal.").await.unwrap();
    assert_eq!(answer.addresses(), [ip("10.0.3.7"), ip("10.0.3.8")]);
    resolved.remember(&answer);
    assert_eq!(world.egress.may_connect(at("10.0.3.7:5432"), &resolved), Ok(()));
    assert_eq!(world.egress.may_connect(at("10.0.3.8:5432"), &resolved), Ok(()));
    for closed in ["10.0.3.7:5433", "10.0.3.7:80", "10.0.3.9:5432", "127.0.0.1:5432", "[::ffff:10.0.3.7]:5432"] {
        let text = world.egress.may_connect(at(closed), &resolved).unwrap_err().to_string();
        assert!(
            text.starts_with(&format!("{closed} is not granted: add plugin.grants.tcp = [\"{closed}\"]")),
            "{text}"
        );
    }
    let neighbour = Resolved::default();
    assert!(world.egress.may_connect(at("10.0.3.7:5432"), &neighbour).is_err(), "what another guest looked up");
}

#[tokio::test]
async fn a_name_that_nothing_grants_is_refused_before_it_is_looked_up() {
    let world = grants().tcp("db.internal:5432").tcp("*.example.org:80").http("http://api.example.com").start();
    for (name, shown) in [
        ("evil.example", "the name evil.example"),
        ("internal", "the name internal"),
        ("x.db.internal", "the name x.db.internal"),
        ("example.org", "the name example.org"),
        ("secret-in-a-name.evil.example", "the name secret-in-a-name.evil.example"),
        ("api.example.com", "the name api.example.com"),
        ("localhost", "the name localhost"),
        ("127.0.0.1", "the address 127.0.0.1"),
        ("2130706433", "the address 127.0.0.1"),
        ("0x7f.1", "the address 127.0.0.1"),
        ("[::1]", "the address ::1"),
    ] {
        let text = denied(&world, name).await;
        assert!(text.starts_with(&format!("{shown} is not granted: add plugin.grants.tcp = [\"")), "{text}");
        let line = text.split('"').nth(1).unwrap();
        assert!(TcpDestination::parse(line).is_ok(), "{line}");
    }
    for name in
        ["", " ", "a b", "*.example.org", "db.internal\0", "db.internal/", "me@db.internal", "::1", "[::1%25lo]"]
    {
        let answer = look_up(&world, name).await;
        assert!(matches!(answer, Err(LookUpError::NoName(_))), "{name:?}: {answer:?}");
    }
    world.book.saw_nothing();
}

#[tokio::test]
async fn every_address_of_an_answer_is_judged_each_time() {
    let world = grants().tcp("db.example:5432");
    let world = world
        .name(
            "db.example",
            &[&["93.184.215.14"], &["93.184.215.14", "10.0.0.1"], &["127.0.0.2"], &["::ffff:127.0.0.1"]],
        )
        .start();
    let mut resolved = Resolved::default();
    resolved.remember(&look_up(&world, "db.example").await.unwrap());
    for line in ["10.0.0.1/32\"]", "127.0.0.2/32\"]", "::ffff:127.0.0.1/128\"]"] {
        let text = denied(&world, "db.example").await;
        assert!(text.starts_with("the name db.example leads to ") && text.ends_with(line), "{text}");
    }
    assert_eq!(world.egress.may_connect(at("93.184.215.14:5432"), &resolved), Ok(()));
    assert!(world.egress.may_connect(at("10.0.0.1:5432"), &resolved).is_err());
    assert_eq!(world.book.dialled(), []);
}

#[tokio::test]
async fn a_granted_address_may_be_connected_to_without_a_look_up() {
    let world = grants().tcp("127.0.0.1:5432").tcp("93.184.215.14:80").start();
    let nothing = Resolved::default();
    assert_eq!(world.egress.may_connect(at("127.0.0.1:5432"), &nothing), Ok(()));
    assert_eq!(world.egress.may_connect(at("93.184.215.14:80"), &nothing), Ok(()));
    for closed in ["127.0.0.1:5433", "127.0.0.2:5432", "[::1]:5432", "[::ffff:127.0.0.1]:5432", "93.184.215.14:443"] {
        assert!(world.egress.may_connect(at(closed), &nothing).is_err(), "{closed}");
    }
    assert_eq!(look_up(&world, "127.0.0.1").await.unwrap().addresses(), [ip("127.0.0.1")], "its own answer");
    world.book.saw_nothing();
}

#[tokio::test]
async fn an_address_with_a_zone_is_not_the_granted_one() {
    let world = grants().addresses("fe80::/10").tcp("[fe80::1]:5432").start();
    let nothing = Resolved::default();
    assert_eq!(world.egress.may_connect(at("[fe80::1]:5432"), &nothing), Ok(()));
    assert!(world.egress.may_connect(at("[fe80::1%3]:5432"), &nothing).is_err());
}

#[tokio::test]
async fn what_look_ups_gave_is_remembered_up_to_a_bound() {
    let addresses: Vec<String> = (0..300).map(|n| format!("93.184.{}.{}", n / 250, n % 250)).collect();
    let answers: Vec<Vec<&str>> = addresses.iter().map(|address| vec![address.as_str()]).collect();
    let answers: Vec<&[&str]> = answers.iter().map(Vec::as_slice).collect();
    let world = grants().tcp("db.example:5432").name("db.example", &answers).start();
    let mut resolved = Resolved::default();
    for _ in &addresses {
        resolved.remember(&look_up(&world, "db.example").await.unwrap());
    }
    let may = |address: &String| world.egress.may_connect(at(&format!("{address}:5432")), &resolved).is_ok();
    assert_eq!(addresses.iter().filter(|address| may(address)).count(), 256);
    assert!(may(&addresses[299]) && !may(&addresses[0]), "the oldest is forgotten");
}

#[tokio::test]
async fn a_look_up_ends_at_the_deadline_and_a_name_without_addresses_is_an_error() {
    let world = grants().tcp("hangs.example:80").tcp("empty.example:80").name("empty.example", &[&[]]).start();
    let begun = Instant::now();
    let answer = world.egress.look_up("hangs.example", begun + Duration::from_millis(200)).await;
    assert!(matches!(answer, Err(LookUpError::Failed(LookUpFailed::Timeout(_)))), "{answer:?}");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let answer = look_up(&world, "empty.example").await;
    assert!(matches!(answer, Err(LookUpError::Failed(LookUpFailed::NoAddress(_)))), "{answer:?}");
}
