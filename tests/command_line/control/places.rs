//! Where the socket lies, who may use it, and what becomes of it.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::Path;

use gristmill_tests::{Host, TemporaryFolder};

use super::{PIPELINE, SOON, Station, command, text};
use crate::process::Run;

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().mode() & 0o777
}

fn make_folder(path: &Path, mode: u32) {
    std::fs::create_dir(path).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Starts a host that reaches no broker, in a folder that `prepare` has changed before.
fn start(more: &str, prepare: impl FnOnce(&Path)) -> Host {
    let folder = TemporaryFolder::new();
    folder.write("g.toml", &text(more, "127.0.0.1:1"));
    prepare(folder.path());
    Host::start(folder, &["run", "g.toml"])
}

/// Asks by a signal, and waits for a good end.
#[track_caller]
fn stop(host: Host) -> Vec<String> {
    host.signal("TERM");
    let (code, lines) = host.wait_for_end(SOON);
    assert_eq!(code, 0, "{lines:#?}");
    lines
}

#[test]
fn the_socket_is_its_owners_alone_and_goes_with_its_host() {
    let station = Station::start("");
    let socket = station.socket();
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
    station.stop();
    assert!(!socket.exists());
}

/// Two hosts of one pipeline on one machine are legal: they share the group.
#[test]
fn a_second_host_of_the_pipeline_listens_beside_the_first() {
    let station = Station::start("");
    let configuration = station.host.folder().path().join("g.toml").display().to_string();
    let second = Host::start_beside(TemporaryFolder::new(), &station.host, &["run", &configuration]);
    let line = second.wait_for_line("listens to gristmill status", SOON);
    let beside = station.socket().with_file_name(format!("{PIPELINE}-{}.sock", second.process_id()));
    assert!(line.contains(&format!("socket={}", beside.display())), "{line}");
    assert_eq!(mode(&beside), 0o600);
    let ended = station.command(&["status", &configuration, "--output", "json"]);
    assert_eq!(ended.good().json().len(), 2, "{ended:#?}");
    station.command(&["stop", &configuration]).refused(2, &["2 hosts answer", &beside.display().to_string()]);
    station.command(&["stop", "--socket", &beside.display().to_string()]).good();
    assert_eq!(second.wait_for_end(SOON).0, 0);
    assert!(!beside.exists());
    station.command(&["stop", &configuration]).good();
    assert_eq!(station.host.wait_for_end(SOON).0, 0);
}

/// What a killed host leaves behind is replaced by the next one, also what lay beside.
#[test]
fn a_killed_hosts_socket_is_replaced() {
    let first = start("", |_| ());
    first.wait_for_line("listens to gristmill status", SOON);
    let socket = first.socket(PIPELINE);
    let beside = socket.with_file_name(format!("{PIPELINE}-1.sock"));
    drop(UnixListener::bind(&beside).unwrap());
    let keeper = TemporaryFolder::new();
    let moved = keeper.path().join("gristmill");
    // The folder of a host goes with it; what it leaves behind has to outlive that.
    let configuration = keeper.write("g.toml", &text("", "127.0.0.1:1")).display().to_string();
    first.signal("KILL");
    let (code, _) = {
        std::fs::rename(socket.parent().unwrap(), &moved).unwrap();
        first.wait_for_end(SOON)
    };
    assert_eq!(code, 137);
    assert!(moved.join(format!("{PIPELINE}.sock")).exists(), "nothing was left behind");
    let second = Host::start(keeper, &["run", &configuration]);
    let line = second.wait_for_line("listens to gristmill status", SOON);
    assert!(line.contains(&format!("socket={}", second.socket(PIPELINE).display())), "{line}");
    assert!(!moved.join(format!("{PIPELINE}-1.sock")).exists());
    command(&second, &["stop"]).good();
    assert_eq!(second.wait_for_end(SOON).0, 0);
}

#[test]
fn the_socket_can_lie_elsewhere_and_is_found_by_the_configuration() {
    let more = "[control]\nsocket = \"run/it's here.socket\"\n";
    let host = start(more, |folder| std::fs::create_dir(folder.join("run")).unwrap());
    host.wait_for_line("listens to gristmill status", SOON);
    let socket = host.folder().path().join("run/it's here.socket");
    assert_eq!(mode(&socket), 0o600);
    assert!(!host.folder().path().join("gristmill").exists());
    let configuration = host.folder().path().join("g.toml").display().to_string();
    let status = &command(&host, &["status", &configuration, "--output", "json"]).good().json()[0];
    assert_eq!(status["socket"], socket.display().to_string());
    command(&host, &["stop", &configuration]).good();
    assert_eq!(host.wait_for_end(SOON).0, 0);
    assert!(!socket.exists());
}

/// A host does its work without a socket, and says why there is none.
#[test]
fn a_socket_that_cannot_be_made_is_a_warning() {
    let deaf = "no control socket could be made; this host is talked to by signals only";
    let in_folder = |more: &str, prepare: fn(&Path), why: &str| {
        let host = start(more, prepare);
        let line = host.wait_for_line(deaf, SOON);
        assert!(line.contains(" WARN ") && line.contains(why), "{line}");
        host.wait_for_line("starting", SOON);
        stop(host);
    };
    in_folder("", |folder| make_folder(&folder.join("gristmill"), 0o755), "has the mode 0755, which lets others in");
    in_folder("", |folder| std::fs::write(folder.join("gristmill"), "").unwrap(), "is no folder");
    in_folder("", |folder| std::os::unix::fs::symlink("/tmp", folder.join("gristmill")).unwrap(), "is no folder");
    let elsewhere = "[control]\nsocket = \"run/g.sock\"\n";
    in_folder(elsewhere, |_| (), "cannot be used: No such file or directory");
    in_folder(elsewhere, |folder| make_folder(&folder.join("run"), 0o777), "has the mode 0777");
    let file = |folder: &Path| {
        make_folder(&folder.join("run"), 0o700);
        std::fs::write(folder.join("run/g.sock"), "precious").unwrap();
    };
    in_folder(elsewhere, file, "holds something that is no socket");
}

#[test]
fn a_host_without_a_control_socket_makes_none() {
    let host = start("[control]\nenabled = false\n", |_| ());
    host.wait_for_line("starting", SOON);
    assert!(!host.folder().path().join("gristmill").exists());
    let lines = stop(host);
    assert!(!lines.iter().any(|line| line.contains("gristmill::control")), "{lines:#?}");
}

/// The limit is the system's, and a path that is chosen too long is refused before anything runs.
#[test]
fn a_path_that_is_too_long_is_refused_by_check() {
    let long = format!("/run/{}.sock", "x".repeat(100));
    let check = |run: Run, arguments: &[&str]| {
        run.file("g.toml", text("", "127.0.0.1:1")).with(&[&["check", "g.toml"], arguments].concat())
    };
    let set = format!("control.socket={long}");
    check(Run::new(), &["--set", &set]).refused(78, &["control.socket", "has 110 bytes", "107 at the most"]);
    check(Run::new(), &["--set", "control.socket="]).refused(78, &["control.socket", "is empty"]);
    let ended = check(Run::new().variable("GRISTMILL_RUNTIME_DIR", format!("/{}", "x".repeat(90))), &[]);
    assert!(ended.code == 0 && ended.stderr.contains("no control socket can be made: "), "{ended:#?}");
    // A name is cut where it would make the path too long.
    let name = format!("pipeline={}", "long-".repeat(50));
    let ended = check(Run::new(), &["--set", &name]);
    assert!(ended.code == 0 && !ended.stderr.contains("no control socket"), "{ended:#?}");
}

/// Something else may listen where a host is looked for.
#[test]
fn what_is_no_host_is_not_taken_for_one() {
    use std::io::{Read as _, Write as _};

    let folder = TemporaryFolder::new();
    let path = folder.path().join("g.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let replies = ["HTTP/1.1 400 Bad Request\r\n\r\n", "{\"version\":1}\n", "\n", ""];
    let server = std::thread::spawn(move || {
        for reply in replies {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    for _ in replies {
        let ended = Run::new().with(&["status", "--socket", &path.display().to_string()]);
        ended.refused(69, &["what answers there is no gristmill, or another version"]);
    }
    server.join().unwrap();
}
