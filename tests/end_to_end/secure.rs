//! Over TLS, with a password: every mechanism and every codec that brokers are used with, and what people hear who come
//! with the wrong ones.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use gristmill_tests::{Host, Loaded, Seen, TemporaryFolder, create_topic};
use xtask::kafka::security::{Certificate, MECHANISMS, PASSWORD, USER};
use xtask::kafka::{Broker, Options};

use crate::pipeline::{Pipeline, SOON, last, shown, stop, wait_until_handed_over};

const CODECS: &[&str] = &["none", "gzip", "snappy", "lz4", "zstd"];

/// The broker with a secure listener, for the tests of this file that run at the same time; gone when none does.
fn secure_broker() -> Arc<Broker> {
    static BROKER: Mutex<Weak<Broker>> = Mutex::new(Weak::new());
    let mut known = BROKER.lock().unwrap_or_else(PoisonError::into_inner);
    known.upgrade().unwrap_or_else(|| {
        let broker = Arc::new(Broker::start(&Options { secure: true, ..Options::default() }).unwrap());
        *known = Arc::downgrade(&broker);
        broker
    })
}

/// A pipeline that comes to the secure listener as it should.
pub(crate) fn secured<'b>(broker: &'b Broker, name: &str, mechanism: &str) -> Pipeline<'b> {
    let pipeline = Pipeline::new(broker, name).set("batch", "max_wait", "\"100ms\"");
    let pipeline = pipeline.set("kafka", "bootstrap_servers", format!("{:?}", broker.secure_bootstrap().unwrap()));
    let pipeline = pipeline.property("security.protocol", "SASL_SSL").property("sasl.mechanism", mechanism);
    let pipeline = pipeline.property("sasl.username", USER).property("sasl.password", PASSWORD);
    trusting(pipeline, broker.certificate().unwrap())
}

fn trusting<'b>(pipeline: Pipeline<'b>, certificate: &Path) -> Pipeline<'b> {
    pipeline.property("ssl.ca.location", &certificate.display().to_string())
}

#[test]
fn records_of_every_codec_come_over_tls_byte_for_byte() {
    const EACH: u64 = 40;
    let broker = secure_broker();
    let pipeline = secured(&broker, "codecs", "SCRAM-SHA-512").setting("show", "yes");
    create_topic(&broker.bootstrap(), &pipeline.topic, 1);
    let mut loaded = Loaded { partitions: [(0, 0..0)].into() };
    for codec in CODECS {
        pipeline.load_compressed(&mut loaded, EACH, codec);
    }
    let stored = broker.stored_batches(&pipeline.topic, 0).unwrap();
    for codec in CODECS {
        assert!(stored.iter().any(|batch| batch.codec == *codec), "nothing is stored with {codec}: {stored:?}");
    }

    let host = pipeline.run();
    wait_until_handed_over(&host, loaded.records(), SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let lines = stop(host);
    let wanted = (0..loaded.records()).map(|offset| {
        let value = format!("{:0100}", offset % EACH.cast_signed());
        (format!("record 0 {offset} create("), format!(") '0-{offset}' '{value}' []"))
    });
    let came = shown(&lines);
    assert_eq!(came.len() as i64, loaded.records(), "{}", last(&lines));
    for (record, (begins, ends)) in came.iter().zip(wanted) {
        assert!(record.starts_with(&begins) && record.ends_with(&ends), "{record}");
    }
}

#[test]
fn every_mechanism_for_passwords_opens_the_door() {
    let broker = secure_broker();
    for mechanism in MECHANISMS {
        let pipeline = secured(&broker, &mechanism.to_lowercase(), mechanism);
        let loaded = pipeline.load(1, 20);
        let host = pipeline.run();
        pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
        assert_eq!(Seen::from_lines(&stop(host)).missing(&loaded), "", "{mechanism}");
    }
}

/// A host and an online check both end at once, with the code for it and a last line that says what to look at.
#[track_caller]
fn refused(pipeline: &Pipeline<'_>, code: i32, words: &[&str]) {
    let folder = TemporaryFolder::new();
    folder.write("gristmill.toml", &pipeline.configuration());
    let check = Host::start(folder, &["check", "gristmill.toml", "--online"]);
    for host in [pipeline.run(), check] {
        let (ended_with, lines) = host.wait_for_end(SOON);
        assert_eq!(ended_with, code, "{}", last(&lines));
        let line = lines.last().cloned().unwrap_or_default();
        println!("{line}");
        for word in words {
            assert!(line.contains(word), "the last line does not say {word:?}: {line}");
        }
        assert!(!lines.join("\n").contains(PASSWORD), "the password is shown");
    }
}

#[test]
fn a_wrong_password_ends_the_host_and_is_not_shown() {
    let broker = secure_broker();
    for mechanism in MECHANISMS {
        let pipeline = secured(&broker, "wrong-password", mechanism);
        let _ = pipeline.load(1, 1);
        let pipeline = pipeline.property("sasl.password", "something else");
        refused(&pipeline, 77, &["sasl.", "uthentication"]);
        assert!(pipeline.committed().is_empty());
    }
}

#[test]
fn a_broker_whose_certificate_nobody_vouches_for_is_not_talked_to() {
    let broker = secure_broker();
    let folder = TemporaryFolder::new();
    let stranger = Certificate::make(folder.path(), "stranger").unwrap();
    let pipeline = trusting(secured(&broker, "wrong-authority", "PLAIN"), &stranger.pem);
    refused(&pipeline, 77, &["no secure connection", "certificate", "ssl.ca.location"]);
}

#[test]
fn the_wrong_protocol_for_a_listener_is_said_in_words() {
    let broker = secure_broker();
    let plain = secured(&broker, "plain-to-tls", "PLAIN").set("start", "wait", "\"3s\"");
    let plain = plain.property("security.protocol", "SASL_PLAINTEXT");
    refused(&plain, 69, &["no broker of", "security.protocol"]);
    let tls = secured(&broker, "tls-to-plain", "PLAIN").set("start", "wait", "\"3s\"");
    let tls = tls.set("kafka", "bootstrap_servers", format!("{:?}", broker.bootstrap()));
    // librdkafka guesses at the other side's protocol only when bytes of it came before the end.
    refused(&tls, 69, &["SSL", "security.protocol"]);
}
