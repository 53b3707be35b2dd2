//! Clients that misbehave: each is told so, or sent away, and the host does its work.

use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Client, SOON, Station, ask};

const STATUS: &str = "{\"version\":1,\"request\":\"status\"}\n";

/// Clients that are served at once.
const CLIENTS_MAX: usize = 64;

#[test]
fn what_is_no_request_is_refused_and_the_client_sent_away() {
    let station = Station::start("");
    let too_long = vec![b'x'; (64 << 10) + 1];
    let endless = vec![b'['; 2 << 20];
    let bad: [(&[u8], &str); 9] = [
        (b"garbage\n", "not_json"),
        (b"\n", "not_json"),
        (b"\xff\xfe\x00\n", "not_json"),
        (b"GET / HTTP/1.1\r\n\r\n", "not_json"),
        (b"{\"request\":\"status\"}\n", "other_version"),
        (b"{\"version\":2,\"request\":\"status\"}\n", "other_version"),
        (b"{\"version\":1,\"request\":\"dance\"}\n", "unknown_request"),
        (&too_long, "too_long"),
        (&endless, "too_long"),
    ];
    for (bytes, code) in bad {
        let mut client = Client::connect(&station.socket());
        client.say(bytes);
        assert_eq!(client.refused(), code, "{}", bytes[..bytes.len().min(40)].escape_ascii());
    }
    station.is_well();
    station.stop();
}

#[test]
fn the_longest_request_is_taken_and_many_on_one_connection() {
    let station = Station::start("");
    let mut client = Client::connect(&station.socket());
    let blanks = " ".repeat((64 << 10) - STATUS.len() + 1);
    for line in [format!("{blanks}{STATUS}"), STATUS.to_owned(), STATUS.to_owned()] {
        client.say(line);
        assert_eq!(client.answer().unwrap()["status"]["state"], "running");
    }
    // Several in one breath, cut anywhere.
    let pipelined = STATUS.repeat(3);
    client.say(&pipelined[..20]);
    client.say(&pipelined[20..]);
    for _ in 0..3 {
        assert!(client.answer().unwrap()["status"].is_object());
    }
    station.stop();
}

#[test]
fn half_a_line_is_refused_and_does_nothing() {
    let station = Station::start("");
    for half in ["{\"version\":1,\"request\":\"pause\"}", "{\"version\":1,", "x"] {
        let mut client = Client::connect(&station.socket());
        client.say(half);
        client.stream.get_ref().shutdown(Shutdown::Write).unwrap();
        assert_eq!(client.refused(), "half_line", "{half}");
    }
    // And one that goes away in the middle.
    Client::connect(&station.socket()).say("{\"version\":1,\"request\":\"pau");
    assert_eq!(station.status()["paused"], false);
    station.stop();
}

#[test]
fn a_client_that_says_nothing_is_sent_away() {
    let station = Station::start("");
    let begun = Instant::now();
    let mut silent = Client::connect(&station.socket());
    let mut slow = Client::connect(&station.socket());
    slow.say("{\"version\":1,");
    assert_eq!((silent.refused().as_str(), slow.refused().as_str()), ("too_slow", "too_slow"));
    assert!(begun.elapsed() > Duration::from_secs(5), "after {:?}", begun.elapsed());
    station.is_well();
    station.stop();
}

/// Its answers fill its queue, the host gives up on it, and no loop has waited.
#[test]
fn a_client_that_never_reads_is_sent_away() {
    let station = Station::start("");
    let mut deaf = UnixStream::connect(station.socket()).unwrap();
    deaf.set_write_timeout(Some(SOON)).unwrap();
    let asking = std::thread::spawn(move || {
        let begun = Instant::now();
        loop {
            if let Err(error) = deaf.write_all(STATUS.as_bytes()) {
                return (error.kind(), begun.elapsed());
            }
        }
    });
    while !asking.is_finished() {
        station.is_well();
    }
    let (kind, after) = asking.join().unwrap();
    let gone = [std::io::ErrorKind::BrokenPipe, std::io::ErrorKind::ConnectionReset];
    assert!(gone.contains(&kind), "{kind:?} after {after:?}");
    station.stop();
}

/// The first come in; the others are told so at once; records flow, and afterwards there is room again.
#[test]
fn a_thousand_clients_do_not_hurt_the_host() {
    let station = Station::start("");
    let mut clients: Vec<Client> = (0..1_000).map(|_| Client::connect(&station.socket())).collect();
    let refused: Vec<String> = clients.split_off(CLIENTS_MAX).iter_mut().map(Client::refused).collect();
    assert_eq!(refused, vec!["too_many_clients"; 1_000 - CLIENTS_MAX]);
    clients.iter_mut().for_each(|client| client.say(STATUS));
    for client in &mut clients {
        assert_eq!(client.answer().unwrap()["status"]["state"], "running");
    }
    let ended = station.command(&["status"]);
    ended.refused(69, &["64 clients are being served; try again"]);
    drop(clients);
    let deadline = Instant::now() + SOON;
    let is_full = |answer: &Value| answer["error"]["code"] == "too_many_clients";
    while is_full(&ask(&station.socket(), &json!({"version": 1, "request": "status"}))) {
        assert!(Instant::now() < deadline, "there was no room again");
    }
    station.is_well();
    station.stop();
}

/// Clients that ask without a pause: what reaches the run loop is bounded, and the records come first.
#[test]
fn clients_that_never_stop_asking_do_not_keep_records_waiting() {
    let station = Station::start("");
    let socket = station.socket();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let stopped = std::sync::Arc::new(std::sync::Mutex::new(stopped));
    let asking: Vec<_> = (0..CLIENTS_MAX / 2)
        .map(|_| {
            let (socket, stopped) = (socket.clone(), std::sync::Arc::clone(&stopped));
            std::thread::spawn(move || {
                let mut client = Client::connect(&socket);
                let mut answers = 0_u64;
                let go_on = || stopped.lock().unwrap().try_recv() == Err(std::sync::mpsc::TryRecvError::Empty);
                while go_on() {
                    client.say(STATUS);
                    client.answer().unwrap();
                    answers += 1;
                }
                answers
            })
        })
        .collect();
    let begun = Instant::now();
    for _ in 0..10 {
        station.is_well();
    }
    drop(stop);
    let answers: u64 = asking.into_iter().map(|asking| asking.join().unwrap()).sum();
    // One in 5 ms, and what the test itself asked.
    let most = begun.elapsed().as_millis() as u64 / 5 + CLIENTS_MAX as u64;
    assert!((1..=most).contains(&answers), "{answers} answers, at most {most} expected");
    station.stop();
}
