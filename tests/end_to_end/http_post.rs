//! The plugin `http-post` in the host, in its sandbox, between a real Kafka and an HTTP server that takes many package URLs at once.

use std::collections::BTreeMap;
use std::time::Duration;

use gristmill_tests::{Loaded, create_topic, read_topic, shared_broker};
use xtask::purl_api::{PATH, PurlApi};

use crate::pipeline::{Pipeline, SOON, stop};
use crate::relay::Relay;

/// How many records a batch has, and a request.
const BATCH: u64 = 1_000;
const REQUEST: usize = 100;

/// What the host holds and the plugin never sees.
const TOKEN: &str = "Bearer mill-stone";

/// A pipeline to that server, in requests of a hundred package URLs.
fn pipeline(api: &PurlApi, name: &str) -> Pipeline<'static> {
    pipeline_to("http", &api.address().to_string(), name)
}

fn pipeline_to(scheme: &str, address: &str, name: &str) -> Pipeline<'static> {
    let pipeline = Pipeline::new(shared_broker(), name).plugin("gristmill-http-post").without_setting("check_keys");
    let pipeline = pipeline.setting("url", &format!("{scheme}://{address}{PATH}")).setting("field", "purl");
    let pipeline = pipeline.setting("body", "template").setting("template", "{\"purls\":[{values}]}");
    let pipeline = pipeline.setting("max_records", &REQUEST.to_string());
    let grant = format!("[{{ url = \"{scheme}://{address}\", headers = {{ authorization = {TOKEN:?} }} }}]");
    let pipeline = pipeline.set("plugin.grants", "http", grant).set("plugin.grants", "addresses", "[\"127.0.0.1/32\"]");
    let pipeline = pipeline.set("retry", "initial", "\"50ms\"").set("retry", "max", "\"300ms\"");
    pipeline.set("batch", "max_records", BATCH.to_string()).set("batch", "max_wait", "\"200ms\"")
}

fn purl(number: i64) -> String {
    format!("pkg:npm/left-pad@{number}")
}

fn load(pipeline: &Pipeline<'_>, records: u64) -> Loaded {
    pipeline.load_values(1, records, |number| format!("{{\"purl\":\"{}\"}}", purl(number)).into_bytes())
}

/// How often each package URL was taken.
fn taken(api: &PurlApi) -> BTreeMap<String, u32> {
    let mut taken = BTreeMap::new();
    api.taken().into_iter().for_each(|purl| *taken.entry(purl).or_default() += 1);
    taken
}

/// Wants each of so many package URLs to be taken once.
#[track_caller]
fn assert_each_once(taken: &BTreeMap<String, u32>, records: i64) {
    let missing: Vec<String> = (0..records).map(purl).filter(|purl| !taken.contains_key(purl)).collect();
    let often: Vec<&String> = taken.iter().filter(|(_, times)| **times > 1).map(|(purl, _)| purl).collect();
    assert!(
        missing.is_empty() && often.is_empty(),
        "{} missing: {missing:?}; {} taken again: {often:?}",
        missing.len(),
        often.len()
    );
    assert_eq!(i64::try_from(taken.len()), Ok(records));
}

#[test]
fn batches_go_out_in_requests_with_names_and_with_credentials_that_the_host_adds() {
    let api = PurlApi::start().unwrap();
    api.want(TOKEN);
    let pipeline = pipeline(&api, "posted");
    let loaded = load(&pipeline, 2_050);
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let lines = stop(host);
    assert!(!lines.iter().any(|line| line.contains("mill-stone")), "the token is in the log");
    assert_each_once(&taken(&api), 2_050);
    let asked = api.asked();
    assert!(asked.len() >= 21, "{} requests", asked.len());
    let mut names: Vec<&str> = asked.iter().map(|asked| asked.header("idempotency-key").unwrap()).collect();
    let first = format!("{0}/{0}-0-0-99", pipeline.topic).replacen(&pipeline.topic, &pipeline.group, 1);
    assert_eq!(names[0], first);
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), asked.len(), "a name stands for two requests");
}

/// R7: what went out before the server was busy stays done, and comes no second time; the server says when the rest may come.
#[test]
fn a_busy_server_gets_the_rest_later_and_nothing_twice() {
    let api = PurlApi::start().unwrap();
    let pipeline = pipeline(&api, "busy").set("retry", "max", "\"5s\"");
    let loaded = load(&pipeline, 3_000);
    // In the middle of a batch, the tenth request of which is its last.
    api.answer_after(3, "503 Service Unavailable", &["retry-after: 1"]);
    api.answer_after(17, "429 Too Many Requests", &[]);
    let begun = std::time::Instant::now();
    let host = pipeline.run();
    let line = host.wait_for_line("the server answers 503", SOON);
    assert!(line.contains("\"delay_ms\":1000"), "the server's wish is not heard: {line}");
    host.wait_for_line("the server answers 429", SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    assert!(begun.elapsed().as_secs() >= 1, "the server's wish was not granted");
    stop(host);
    assert_each_once(&taken(&api), 3_000);
}

/// D1, D3: what the server refuses is a dead letter with the server's words, one record at a time.
#[test]
fn each_record_that_the_server_refuses_is_a_dead_letter() {
    let api = PurlApi::start().unwrap();
    let pipeline = pipeline(&api, "refused").setting("results", "/results").setting("failure", "/error");
    let letters = format!("{}.dead", pipeline.topic);
    create_topic(&shared_broker().bootstrap(), &letters, 1);
    let pipeline = pipeline.set("dead_letter", "topic", format!("{letters:?}"));
    let loaded = pipeline.load_values(1, 1_000, |number| match number {
        7 => b"{\"purl\":\"left-pad\"}".to_vec(),
        8 => b"{\"name\":\"left-pad\"}".to_vec(),
        _ => format!("{{\"purl\":\"{}\"}}", purl(number)).into_bytes(),
    });
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    stop(host);
    let found = read_topic(&shared_broker().bootstrap(), &letters);
    let told = |name: &str| -> Vec<String> {
        found.iter().map(|letter| letter.header(&format!("gristmill.{name}")).unwrap_or_default()).collect()
    };
    assert_eq!(told("origin.offset"), ["7", "8"]);
    assert_eq!(told("failure.reason"), ["the server says: this is no package URL", "its value has nothing at /purl"]);
    assert_eq!(api.taken().len(), 998);
}

#[test]
fn a_server_that_goes_away_and_comes_back_gets_everything() {
    let api = PurlApi::start().unwrap();
    let pipeline = pipeline(&api, "gone");
    let mut loaded = load(&pipeline, 500);
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let (address, first) = (api.address(), taken(&api));
    drop(api);
    let values = |number: i64| format!("{{\"purl\":\"{}\"}}", purl(500 + number)).into_bytes();
    gristmill_tests::load_values(&shared_broker().bootstrap(), &pipeline.topic, &mut loaded, 500, "none", values);
    host.wait_for_line(&format!("{address} takes no connection"), SOON);
    let api = PurlApi::start_at(address).unwrap();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    stop(host);
    let both: BTreeMap<String, u32> = first.into_iter().chain(taken(&api)).collect();
    assert_each_once(&both, 1_000);
}

/// What the server finds fault with as a whole ends the host with the way out; nothing is committed.
#[test]
fn wrong_credentials_end_the_host_with_the_way_out() {
    let api = PurlApi::start().unwrap();
    api.want("Bearer somebody-else");
    let pipeline = pipeline(&api, "wrong-token");
    let _ = load(&pipeline, 10);
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    assert_eq!(code, 65);
    let last = lines.last().unwrap();
    assert!(last.contains("the server answers 401: ") && last.contains("who are you?"), "{last}");
    assert!(last.contains("check the headers of the URL in http of [plugin.grants]"), "{last}");
    assert_eq!(pipeline.committed()[&0], 0);
    assert_eq!(api.taken(), [""; 0]);
}

/// What came is no answer: that is told, not that nobody was reached, and nothing is lost.
#[test]
fn a_batch_waits_while_somebody_answers_in_another_protocol() {
    let api = PurlApi::start().unwrap();
    let relay = Relay::to(&api.address().to_string());
    relay.lead_to(b"SSH-2.0-mill\r\n");
    let pipeline = pipeline_to("http", &relay.address(), "other-protocol");
    let loaded = load(&pipeline, 100);
    let host = pipeline.run();
    host.wait_for_line(&format!("the answer of {} was not understood", relay.address()), SOON);
    relay.lead_to(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: gzip\r\n\r\n{}");
    relay.wait_until_led();
    relay.lead_through(&api.address().to_string());
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    stop(host);
    assert_each_once(&taken(&api), 100);
}

#[test]
fn who_speaks_no_tls_is_told_as_such() {
    let api = PurlApi::start().unwrap();
    let relay = Relay::to(&api.address().to_string());
    relay.lead_to(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    let pipeline = pipeline_to("https", &relay.address(), "no-tls");
    let _ = load(&pipeline, 10);
    let host = pipeline.run();
    host.wait_for_line(&format!("there is no TLS with {}", relay.address()), SOON);
    stop(host);
}

#[test]
fn an_answer_that_is_too_large_ends_the_host_with_the_way_out() {
    let api = PurlApi::start().unwrap();
    let relay = Relay::to(&api.address().to_string());
    let body = "x".repeat(5 << 20);
    relay.lead_to(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes());
    let pipeline = pipeline_to("http", &relay.address(), "too-large");
    let _ = load(&pipeline, 10);
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    let last = lines.last().unwrap();
    let words =
        format!("the answer of {} is too large, it has more than 4194304 bytes: have it answer less", relay.address());
    assert!(code == 65 && last.contains(&words), "{code}: {last}");
}

/// An answer of three MB may hold a million values and more: nothing is built of them.
#[test]
fn an_answer_of_a_million_values_is_read_within_a_few_times_its_size() {
    let many = format!("[0{}]", ",0".repeat(1_500_000));
    let answer = |results: &str| {
        let body = format!("{{\"results\":{results}}}");
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    let api = PurlApi::start().unwrap();
    let relay = Relay::to(&api.address().to_string());
    let led_to = |name: &str| {
        let pipeline = pipeline_to("http", &relay.address(), name).set("plugin.limits", "memory", "\"16MiB\"");
        pipeline.set("batch", "max_bytes", "\"1MiB\"").setting("results", "/results").setting("failure", "/error")
    };
    relay.lead_to(answer(&format!("[{{\"a\":{many}}},{{}}]")).as_bytes());
    let pipeline = led_to("many-values");
    let loaded = load(&pipeline, 2);
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    stop(host);
    relay.lead_to(answer(&many).as_bytes());
    let pipeline = led_to("many-results");
    let _ = load(&pipeline, 2);
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    let last = lines.last().unwrap();
    assert!(code == 65 && last.contains("the answer has more than 2 results for 2 records"), "{code}: {last}");
}

/// A scheme in capitals is the same scheme.
#[test]
fn an_answer_that_leads_elsewhere_or_is_of_no_status_ends_the_host_with_words_for_it() {
    for (status, head, words) in [
        (
            "308 Permanent Redirect",
            &["location: https://api.example/v2?token=secret"][..],
            "write the address that it leads to as url, \\\"https://api.example/v2\\\" and what follows it",
        ),
        ("302 Found", &["location: https:/u:secret@evil/path"], "as url; its header location is not shown here"),
        ("700 Odd", &[], "the server answers 700, a status that HTTP does not know"),
        ("407 Proxy Authentication Required", &[], "a proxy on the way wants credentials"),
    ] {
        let api = PurlApi::start().unwrap();
        api.answer_after(0, status, head);
        let pipeline = pipeline_to("HTTP", &api.address().to_string(), "elsewhere");
        let _ = load(&pipeline, 10);
        let (code, lines) = pipeline.run().wait_for_end(SOON);
        let last = lines.last().unwrap();
        assert!(code == 65 && last.contains(words) && !last.contains("secret"), "{code}: {last}");
    }
}

/// R7: the first record is to blame, and the halving does not get to it in the time of a call. Each attempt begins with a smaller request.
#[test]
fn a_first_record_to_blame_is_found_behind_slow_answers() {
    let api = PurlApi::start().unwrap();
    api.answer_late(Duration::from_millis(300));
    let pipeline = pipeline(&api, "slow").setting("client_errors", "reject").set("plugin.limits", "time", "\"1s\"");
    let letters = format!("{}.dead", pipeline.topic);
    create_topic(&shared_broker().bootstrap(), &letters, 1);
    let pipeline = pipeline.set("dead_letter", "topic", format!("{letters:?}"));
    let loaded = pipeline.load_values(1, 100, |number| match number {
        0 => b"{\"purl\":7}".to_vec(),
        _ => format!("{{\"purl\":\"{}\"}}", purl(number)).into_bytes(),
    });
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    stop(host);
    let found = read_topic(&shared_broker().bootstrap(), &letters);
    let offsets: Vec<_> = found.iter().map(|letter| letter.header("gristmill.origin.offset")).collect();
    assert_eq!(offsets, [Some("0".to_owned())]);
    // What was asked for in the last moment of a call may be taken twice, but nothing is missing.
    assert_eq!(taken(&api).len(), 99);
}

#[test]
fn a_url_that_nothing_grants_ends_the_host_with_the_way_out() {
    let (api, other) = (PurlApi::start().unwrap(), PurlApi::start().unwrap());
    let pipeline = pipeline(&api, "not-granted").setting("url", &other.url());
    let _ = load(&pipeline, 10);
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    let last = lines.last().unwrap();
    let words = format!("does not let this plugin reach {}: name the URL in http of [plugin.grants]", other.address());
    assert!(code == 65 && last.contains(&words), "{code}: {last}");
    assert_eq!(other.asked().len(), 0);
}

#[test]
fn a_server_that_is_late_is_told_as_such_and_gets_everything_when_it_is_quick_again() {
    let api = PurlApi::start().unwrap();
    api.answer_late(Duration::from_secs(2));
    let pipeline = pipeline(&api, "late").set("plugin.limits", "time", "\"1s\"");
    let loaded = load(&pipeline, 10);
    let host = pipeline.run();
    host.wait_for_line(&format!("{} did not answer in time", api.address()), SOON);
    api.answer_late(Duration::ZERO);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    stop(host);
    // What it took while nobody waited any longer, it takes again.
    assert_eq!(taken(&api).len(), 10);
}
