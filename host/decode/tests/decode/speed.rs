//! How long a record of about a kilobyte takes. A figure, printed with `--nocapture`; what is checked is its order of magnitude.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use apache_avro::types::Value;
use gristmill_decode::{Decoder, Format};

use crate::{avro, decoder};

const RECORDS: u32 = 20_000;

/// The time for one record, best of five.
fn time(decoder: &Decoder, bytes: &[u8]) -> Duration {
    let run = || {
        let begun = Instant::now();
        for _ in 0..RECORDS {
            black_box(decoder.decode(black_box(bytes), begun).unwrap());
        }
        begun.elapsed() / RECORDS
    };
    (0..5).map(|_| run()).min().unwrap()
}

#[test]
fn a_record_of_a_kilobyte_takes_microseconds() {
    let schema = r#"{"type":"array","items":{"type":"record","name":"R","fields":[
        {"name":"id","type":"long"},{"name":"name","type":"string"},{"name":"note","type":["null","string"]},{"name":"v","type":"double"}]}}"#;
    let row = |n: i64| {
        let note = Value::Union(1, Box::new(Value::String("some words of text".to_owned())));
        let name = Value::String(format!("customer {n}"));
        let v = Value::Double(n as f64 / 8.0);
        Value::Record(vec![
            ("id".into(), Value::Long(n << 20)),
            ("name".into(), name),
            ("note".into(), note),
            ("v".into(), v),
        ])
    };
    let datum = avro::encoded(schema, Value::Array((0..22).map(row).collect()));
    let avro = avro::by_file("speed", schema);
    let json = crate::text(&avro, &datum);
    let json = &json[..json.len().min(1024)];
    // The same rows as JSON, as many as are a kilobyte.
    let rows = json.rfind("},{").unwrap();
    let json = format!("{}}}]", &json[..rows]);
    let mut report = String::new();
    let mut all = Duration::ZERO;
    for (name, decoder, bytes) in [
        ("raw", decoder(&Format::Raw), json.as_bytes()),
        ("utf8", decoder(&Format::Utf8), json.as_bytes()),
        ("json", decoder(&Format::Json), json.as_bytes()),
        ("avro", avro, datum.as_slice()),
    ] {
        let took = time(&decoder, bytes);
        all += took;
        writeln!(report, "{name:>6}: {took:?} for {} bytes", bytes.len()).unwrap();
    }
    println!("{report}");
    assert!(all < Duration::from_millis(1), "{report}");
}
