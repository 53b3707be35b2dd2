//! Dead letters on a real Kafka: what broke is listed, shown, replayed once its cause is corrected, and handled.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use gristmill_tests::{
    Ending, Found, Host, Seen, TemporaryFolder, WireRecord, create_topic, plugin, put_batch, put_in_transaction,
    put_value, read_topic, shared_broker, unique,
};
use xtask::kafka::{Broker, Options};

use crate::pipeline::{Pipeline, SOON, last, stop};

/// A pipeline with a dead-letter topic of two partitions, and that topic's name.
fn pipeline(name: &str, headers: &str) -> (Pipeline<'static>, String) {
    pipeline_on(shared_broker(), name, headers)
}

/// The same on a broker.
fn pipeline_on<'b>(broker: &'b Broker, name: &str, headers: &str) -> (Pipeline<'b>, String) {
    let pipeline = Pipeline::new(broker, name).set("retry", "initial", "\"10ms\"").set("retry", "max", "\"50ms\"");
    let letters = format!("{}.dead", pipeline.topic);
    create_topic(&broker.bootstrap(), &letters, 2);
    let pipeline = pipeline.set("dead_letter", "topic", format!("{letters:?}"));
    (pipeline.set("dead_letter", "headers", format!("{headers:?}")), letters)
}

/// Starts `gristmill dead-letters` on a pipeline's configuration.
pub(crate) fn start(pipeline: &Pipeline<'_>, arguments: &[&str]) -> Host {
    let folder = TemporaryFolder::new();
    folder.write("g.toml", &pipeline.configuration());
    let (command, rest) = arguments.split_first().unwrap();
    Host::start(folder, &[&["dead-letters", command, "g.toml"], rest].concat())
}

/// Runs it to its end, fails unless it ends well, and returns what it printed.
#[track_caller]
fn command(pipeline: &Pipeline<'_>, arguments: &[&str]) -> String {
    let (code, lines) = start(pipeline, arguments).wait_for_end(SOON);
    assert_eq!(code, 0, "{arguments:?}: {lines:#?}");
    lines.join("\n")
}

fn found(topic: &str) -> Vec<Found> {
    read_topic(&shared_broker().bootstrap(), topic)
}

/// D3, D4: two records are rejected and one breaks the plugin. The dead letters tell so, the corrected plugin takes them without
/// Kafka, and after a replay within it; what fails again tells both failures.
fn broken_records_are_handled_after_a_replay(name: &str, headers: &str) {
    let (pipeline, letters) = pipeline(name, headers);
    let pipeline = pipeline.batches_of(10).set("batch", "max_wait", "\"100ms\"").set("fault", "max_attempts", "1");
    let broken = pipeline.setting("reject_at", "0:3,0:7").setting("trap_at", "0:5");
    let loaded = broken.load(1, 10);
    let host = broken.run();
    broken.wait_until_committed(&loaded.end_offsets(), SOON);
    stop(host);
    let listed = command(&broken, &["list"]);
    assert!(listed.ends_with("3 dead letters: 1 fault/trap, 2 rejected"), "{listed}");
    let origin = format!("{}/0@5 ", broken.topic);
    let line = listed.lines().find(|line| line.contains(&origin)).unwrap_or_else(|| panic!("{listed}"));
    let at = line.split_whitespace().next().unwrap();
    let shown = command(&broken, &["show", "--at", at]);
    for words in ["  failed    fault/trap, ", "  search    ", "  plugin    sha256:", "  key       0-5"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }

    let corrected = broken.without_setting("reject_at").without_setting("trap_at").without_setting("check_keys");
    let tried = command(&corrected, &["replay", "--all", "--to", "plugin"]);
    assert!(tried.contains("batch 1: ok (3 records, ") && tried.contains("handed 3 to the plugin"), "{tried}");
    assert_eq!(found(&corrected.topic).len(), 10, "nothing is written by a try");
    let said = command(&corrected, &["replay", "--all", "--to", "origin"]);
    assert!(said.contains(&format!("replayed 3 to where they came from (3 to {})", corrected.topic)), "{said}");
    let records = found(&corrected.topic);
    for replayed in &records[10..] {
        let before = records[..10].iter().find(|record| record.key == replayed.key).unwrap();
        assert_eq!((replayed.partition, &replayed.value), (before.partition, &before.value));
        assert_eq!(replayed.header("gristmill.replays").as_deref(), Some("1"), "{replayed:?}");
    }

    // One of them fails again.
    let worse = corrected.setting("reject_at", "0:11");
    let host = worse.run();
    worse.wait_until_committed(&BTreeMap::from([(0, 13)]), SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!(seen.next_offsets(), BTreeMap::from([(0, 13)]));
    let letters = found(&letters);
    assert_eq!(letters.len(), 4);
    let again = letters.iter().find(|letter| letter.header("gristmill.failures").as_deref() == Some("2")).unwrap();
    let position = format!("{}:{}", again.partition, again.offset);
    let shown = command(&worse, &["show", "--at", &position]);
    assert!(shown.contains("failures  2, replayed 1 time\n"), "{shown}");
    assert!(shown.contains(&format!("  last      rejected at {}/0@11, ", worse.topic)), "{shown}");
    let corrected = worse.without_setting("reject_at");
    command(&corrected, &["replay", "--at", &position, "--to", "origin"]);
    let host = corrected.run();
    corrected.wait_until_committed(&BTreeMap::from([(0, 14)]), SOON);
    stop(host);
    let records = found(&corrected.topic);
    assert_eq!(records[13].header("gristmill.replays").as_deref(), Some("2"));
    assert_eq!(records[13].headers.iter().filter(|(name, _)| name == "gristmill.replays").count(), 1);
}

#[test]
fn d3_d4_broken_records_are_handled_after_a_replay() {
    broken_records_are_handled_after_a_replay("replayed", "native");
}

#[test]
fn d3_d4_broken_records_are_handled_after_a_replay_with_the_headers_of_kafka_connect() {
    broken_records_are_handled_after_a_replay("replayed-connect", "kafka-connect");
}

/// As many dead letters as there are records: so many in each of ten partitions.
fn all_dead<'b>(broker: &'b Broker, name: &str, records: u64) -> Pipeline<'b> {
    let (pipeline, _) = pipeline_on(broker, name, "native");
    let pipeline = pipeline.set("dead_letter.stop_when", "consecutive", "1000000");
    let pipeline = pipeline.set("dead_letter.stop_when", "ratio", "1.0").set("batch", "max_wait", "\"100ms\"");
    let pipeline = pipeline.setting("reject_every", "1");
    let loaded = pipeline.load(10, records);
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    stop(host);
    // What is under way is no full batch of any partition, so that it is acknowledged after a second only.
    let pipeline = pipeline.set("producer.properties", "\"linger.ms\"", "\"1000\"");
    pipeline.without_setting("reject_every").without_setting("check_keys")
}

/// The flags that an interrupted replay names.
#[track_caller]
fn flags(lines: &[String]) -> Vec<String> {
    let line = lines.iter().find_map(|line| line.strip_prefix("to go on: the same command with "));
    line.unwrap_or_else(|| panic!("{lines:#?}")).split(' ').map(str::to_owned).collect()
}

/// How many records are on the pipeline's topic.
fn count(broker: &Broker, pipeline: &Pipeline<'_>) -> i64 {
    broker.end_offsets(&pipeline.topic).unwrap().values().sum()
}

/// Begins to replay everything to where it came from, and waits until some of it is there.
fn begin(broker: &Broker, pipeline: &Pipeline<'_>) -> Host {
    let before = count(broker, pipeline);
    let replay = start(pipeline, &["replay", "--all", "--to", "origin"]);
    let deadline = Instant::now() + SOON;
    while count(broker, pipeline) == before {
        assert!(Instant::now() < deadline, "nothing is replayed");
    }
    replay
}

/// Goes on where an interrupted replay says, and gives how often each key is on the topic then.
fn go_on(broker: &Broker, pipeline: &Pipeline<'_>, lines: &[String]) -> BTreeMap<Vec<u8>, u32> {
    let flags = flags(lines);
    let arguments: Vec<&str> = flags.iter().map(String::as_str).collect();
    command(pipeline, &[&["replay", "--all", "--to", "origin"], &arguments[..]].concat());
    let mut keys = BTreeMap::new();
    let records = read_topic(&broker.bootstrap(), &pipeline.topic);
    records.into_iter().for_each(|record| *keys.entry(record.key.unwrap()).or_default() += 1);
    keys
}

/// The last line of a replay that was stopped.
fn stopped(lines: &[String]) -> &String {
    lines.iter().find(|line| line.starts_with("gristmill: ")).unwrap_or_else(|| panic!("{}", last(lines)))
}

#[test]
fn an_interrupted_replay_says_where_to_go_on_and_nothing_is_replayed_twice_or_passed_over() {
    let broker = shared_broker();
    let pipeline = all_dead(broker, "interrupted", 500);
    let replay = begin(broker, &pipeline);
    replay.signal("INT");
    let (code, lines) = replay.wait_for_end(SOON);
    assert_eq!(code, 124, "{}", last(&lines));
    let replayed = count(broker, &pipeline) - 5_000;
    assert!((1..5_000).contains(&replayed), "it was not interrupted: {replayed}");
    let words = format!("stopped as it was asked to; {replayed} were replayed; go on as the line above says");
    assert!(stopped(&lines).contains(&words), "{}", stopped(&lines));
    let keys = go_on(broker, &pipeline, &lines);
    assert_eq!(keys.len(), 5_000);
    assert!(keys.values().all(|count| *count == 2), "each is there once more");
}

/// A broker that does not answer: the first signal waits for what is under way, the second for nothing. When a broker dies, the
/// producer's timeout ends it. None is passed over, whatever became of what was under way.
#[test]
fn a_replay_whose_broker_is_gone_ends_and_can_go_on() {
    let broker = Broker::start(&Options::default()).unwrap();
    let pipeline = all_dead(&broker, "gone", 300);
    let replay = begin(&broker, &pipeline);
    broker.freeze().unwrap();
    replay.signal("INT");
    replay.wait_for_line(" on their way; a second signal waits for nothing", SOON);
    replay.signal("INT");
    let (code, lines) = replay.wait_for_end(SOON);
    broker.thaw().unwrap();
    assert_eq!(code, 124, "{}", last(&lines));
    let words = stopped(&lines);
    assert!(
        words.contains("stopped at once because it was asked twice; ") && words.contains(" more perhaps; "),
        "{words}"
    );
    let keys = go_on(&broker, &pipeline, &lines);
    assert!(keys.len() == 3_000 && keys.values().all(|count| *count >= 2), "none is passed over");

    let impatient = pipeline.set("producer", "timeout", "\"2s\"").set("start", "wait", "\"10s\"");
    let replay = begin(&broker, &impatient);
    broker.kill().unwrap();
    let (code, lines) = replay.wait_for_end(SOON);
    assert_eq!(code, 69, "{}", last(&lines));
    assert!(stopped(&lines).contains(" were replayed"), "{}", stopped(&lines));
    broker.restart().unwrap();
    let keys = go_on(&broker, &impatient, &lines);
    assert!(keys.values().all(|count| *count >= 3), "none is passed over");
}

/// Dead letters of a pipeline's topic, put by hand: one for each key and time.
fn put_letters(pipeline: &Pipeline<'_>, letters: &str, of: impl Iterator<Item = (Option<Vec<u8>>, u128)>) {
    let header = |name: &str, value: &str| (name.as_bytes().to_vec(), Some(value.as_bytes().to_vec()));
    let letter = |(key, millis): (Option<Vec<u8>>, u128)| WireRecord {
        timestamp_ms: 1_700_000_000_000,
        key,
        value: Some(b"v".to_vec()),
        headers: vec![
            header("gristmill.origin.topic", &pipeline.topic),
            header("gristmill.origin.partition", "0"),
            header("gristmill.origin.offset", "7"),
            header("gristmill.origin.timestamp", &millis.to_string()),
            header("gristmill.failure.class", "rejected"),
        ],
    };
    put_batch(&shared_broker().bootstrap(), letters, 0, &of.map(letter).collect::<Vec<_>>());
}

/// Brokers refuse a batch as a whole for one record of it, and give one reason for all.
#[test]
fn one_record_that_its_topic_does_not_take_keeps_no_other_from_being_replayed() {
    let (pipeline, letters) = pipeline("one-of-many", "native");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let key = |number: u32| (number != 57).then(|| number.to_string().into_bytes());
    put_letters(&pipeline, &letters, (0..100).map(|number| (key(number), if number == 71 { 1 } else { now })));
    // Longer than it takes to read them: they are one batch.
    let slow = pipeline.set("producer.properties", "\"linger.ms\"", "\"50\"");
    for (name, setting, bad, code) in [
        ("compacted", ("cleanup.policy", "compact"), 57, "INVALID_RECORD"),
        ("of-today", ("message.timestamp.before.max.ms", "86400000"), 71, "INVALID_TIMESTAMP"),
    ] {
        let topic = unique(name);
        shared_broker().create_topic(&topic, 1, &[setting]).unwrap();
        let (ended, lines) = start(&slow, &["replay", "--all", "--to", &topic]).wait_for_end(SOON);
        assert_eq!(ended, 1, "{lines:#?}");
        let refused: Vec<&String> = lines.iter().filter(|line| line.contains(" is not replayed: ")).collect();
        let why = format!("0:{bad} is not replayed: the brokers refuse the record for {topic} ({code})");
        assert!(matches!(&refused[..], [line] if line.starts_with(&why)), "{lines:#?}");
        assert!(stopped(&lines).contains("1 of 100 were not replayed"), "{lines:#?}");
        let keys: Vec<_> = found(&topic).into_iter().map(|record| record.key).collect();
        let wanted: Vec<_> = (0..100).filter(|number| *number != bad).map(key).collect();
        assert_eq!(keys, wanted, "each once, in their order");
    }
}

/// What ends a transaction has an offset and is no record: the topic is read to its end all the same.
#[test]
fn a_dead_letter_topic_that_ends_in_a_transaction_is_read_to_its_end() {
    let (pipeline, letters) = pipeline("transactional-letters", "native");
    let bootstrap = shared_broker().bootstrap();
    put_in_transaction(&bootstrap, &letters, 2, Ending::Committed);
    let listed = command(&pipeline, &["list"]);
    assert_eq!(listed, "0 dead letters; 2 records without the story of a failure");
    put_in_transaction(&bootstrap, &letters, 3, Ending::Aborted);
    assert_eq!(command(&pipeline, &["list"]), listed);
}

/// The commands that the walk-through of the example gives to gristmill, in their order, but for those without Kafka.
fn walk_through(folder: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let commands = text.lines().filter_map(|line| line.trim().strip_prefix("$ gristmill "));
    let words = |command: &str| -> Vec<String> {
        let path = |word: &str| {
            if word.ends_with(".toml") { folder.join(word).display().to_string() } else { word.to_owned() }
        };
        command.split(' ').map(path).collect()
    };
    commands.filter(|command| !command.starts_with("call ")).map(words).collect()
}

/// `examples/dead-letters`, as its paper walks through it.
#[test]
fn the_example_breaks_on_purpose_and_is_repaired_by_a_replay() {
    let broker = Broker::start(&Options::default()).unwrap();
    let bootstrap = broker.bootstrap();
    create_topic(&bootstrap, "orders", 1);
    create_topic(&bootstrap, "orders.dead", 1);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/dead-letters");
    for line in std::fs::read_to_string(folder.join("orders.tsv")).unwrap().lines() {
        let (key, value) = line.split_once('\t').unwrap();
        put_value(&bootstrap, "orders", key, value);
    }
    let _ = plugin("gristmill-validate");
    let mut committed = [5, 7].into_iter();
    let mut printed = Vec::new();
    for mut arguments in walk_through(&folder) {
        arguments.extend(["--set".to_owned(), format!("kafka.bootstrap_servers={bootstrap}")]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let host = Host::start(TemporaryFolder::new(), &arguments);
        if arguments[0] == "run" {
            let wanted = BTreeMap::from([(0, committed.next().unwrap())]);
            let deadline = Instant::now() + SOON;
            while broker.committed_offsets("orders-to-books", "orders").unwrap() != wanted {
                assert!(Instant::now() < deadline, "{wanted:?}: {}", last(&host.lines().all()));
            }
            stop(host);
        } else {
            let (code, lines) = host.wait_for_end(SOON);
            assert_eq!(code, 0, "{arguments:?}: {lines:#?}");
            printed.push(lines.join("\n"));
        }
    }
    let [listed, shown, tried, replayed, after] = &printed[..] else { panic!("{printed:#?}") };
    assert!(listed.ends_with("3 dead letters: 3 rejected") && listed.matches("/currency: ").count() == 2, "{listed}");
    assert!(shown.contains("  key       ben\n"), "{shown}");
    assert!(tried.starts_with("batch 1: ok (2 records, ") && !tried.contains("rejected 0"), "{tried}");
    assert!(replayed.starts_with("replayed 2 to where they came from (2 to orders); "), "{replayed}");
    assert_eq!(after.lines().last(), listed.lines().last(), "no new dead letter came");
    let taken = &read_topic(&bootstrap, "orders")[5..];
    assert!(taken.iter().all(|order| order.header("gristmill.replays").as_deref() == Some("1")), "{taken:?}");
}
