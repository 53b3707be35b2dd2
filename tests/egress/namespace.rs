//! The system's own resolver and real sockets, where a name server rebinds: in a network of the test's own, in which every address leads
//! to one listener.
//!
//! Nothing of it leaves that network. It is a namespace that `unshare` and `ip` make, which a kernel may refuse to give.

use std::net::{IpAddr, TcpStream};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex};

use gristmill_egress::SystemNetwork;
use gristmill_tests::TemporaryFolder;

use crate::nameserver::NameServer;
use crate::server::{Server, ip, wait_until};
use crate::world::{World, denied, grants};

/// Set where this program runs in the network that it made.
const INSIDE: &str = "GRISTMILL_TEST_NAMESPACE";

/// What answers are given there, and by whom: the name server alone, not the machine's own list of hosts.
const RESOLVER: &str = "nameserver 127.0.0.1\noptions timeout:5 attempts:2\n";
const SOURCES: &str = "hosts: dns\n";

/// Makes every IPv4 address one of this machine, gives the two files their places, and goes on as the program.
const MAKE: &str = "ip link set lo up
ip route add local 0.0.0.0/0 dev lo
for place in /etc/resolv.conf /etc/nsswitch.conf; do
    if [ -e \"$place\" ]; then mount --bind \"$1/${place##*/}\" \"$place\"; fi
done
shift
exec \"$@\"";

/// The words with which a network of one's own begins.
const ALONE: [&str; 4] = ["--user", "--map-root-user", "--net", "--mount"];

/// B22: a name whose addresses change between one look-up and the next, and answers that hide a refused address behind a good one. The
/// listener, which is at each of these addresses, sees what was granted and nothing else.
#[test]
fn a_name_server_that_rebinds_leads_nobody_to_what_is_refused() {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(rebind());
    }
    let possible = Command::new("unshare").args(ALONE).arg("true").status();
    if !possible.as_ref().is_ok_and(ExitStatus::success) {
        // Some containers give no namespaces. The same is then judged at the hook of the network alone, in `rebinding`.
        eprintln!("NOT RUN: this machine gives nobody a network of their own (unshare: {possible:?})");
        return;
    }
    let folder = TemporaryFolder::new();
    std::fs::write(folder.path().join("resolv.conf"), RESOLVER).unwrap();
    std::fs::write(folder.path().join("nsswitch.conf"), SOURCES).unwrap();
    let mut inside = Command::new("unshare");
    inside.args(ALONE).args(["sh", "-ec", MAKE, "sh"]).arg(folder.path()).arg(std::env::current_exe().unwrap());
    inside.args(["--exact", "namespace::a_name_server_that_rebinds_leads_nobody_to_what_is_refused", "--nocapture"]);
    let output = inside.env(INSIDE, "1").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{told}{}", output.status, String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("1 passed"), "{told}");
}

async fn rebind() {
    let arrived_at = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&arrived_at);
    let server = Server::start_at("0.0.0.0:0".parse().unwrap(), move |arrived| {
        note.lock().unwrap().push(arrived.stream.local_addr().unwrap().ip());
        arrived.request();
        arrived.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
    });
    let names = NameServer::start(
        "127.0.0.1",
        &[
            ("moves.example", &[&["127.0.0.1"], &["169.254.169.254"], &["10.96.0.1"], &["127.0.0.2"], &["127.0.0.1"]]),
            ("mixed.example", &[&["93.184.215.14", "169.254.169.254"], &["169.254.169.254", "93.184.215.14"]]),
            ("mapped.example", &[&["93.184.215.14", "::ffff:169.254.169.254"]]),
            ("public.example", &[&["93.184.215.14"]]),
        ],
    );
    let url = |name: &str| format!("http://{name}:{}", server.port());
    let world = ["moves", "mixed", "mapped", "public", "missing"]
        .iter()
        .fold(grants(), |grants, name| grants.http(&url(&format!("{name}.example"))))
        .start_on(SystemNetwork);

    assert_eq!(world.ask(&url("moves.example")).await.unwrap().body, "ok");
    for led_to in
        ["169.254.169.254, which is cloud metadata", "10.96.0.1, which is private", "127.0.0.2, which is loopback"]
    {
        refused(&world, &url("moves.example"), led_to).await;
    }
    assert_eq!(world.ask(&url("moves.example")).await.unwrap().body, "ok");
    assert_eq!(names.look_ups("moves.example"), 5, "what was judged is dialled, and not looked up again");
    for _ in 0..2 {
        refused(&world, &url("mixed.example"), "169.254.169.254").await;
    }
    refused(&world, &url("mapped.example"), "in disguise").await;
    assert_eq!(world.ask(&url("public.example")).await.unwrap().body, "ok");
    let missing = world.ask(&url("missing.example")).await.unwrap_err().to_string();
    assert!(missing.contains("missing.example"), "{missing}");

    // What is dialled there does arrive; so it would have been seen.
    drop(TcpStream::connect(("169.254.169.254", server.port())).unwrap());
    let expected: Vec<IpAddr> = ["127.0.0.1", "127.0.0.1", "93.184.215.14", "169.254.169.254"].map(ip).into();
    wait_until("the test's own connection is seen", || arrived_at.lock().unwrap().len() >= expected.len());
    assert_eq!(*arrived_at.lock().unwrap(), expected);
}

async fn refused(world: &World, url: &str, words: &str) {
    let text = denied(world.ask(url).await);
    assert!(text.contains("leads to") && text.contains(words), "{text}");
}
