//! The ends of every time and every size: what is refused there, and that nothing breaks on what is not.

use std::collections::BTreeSet;

use super::*;

/// What is said at each end; nothing where the value is accepted.
type Ends = (&'static str, &'static [(&'static str, &'static str)]);

const TOO_LONG: &str = "no time here is longer than 100 years";
const LEAST: &str = "at least \"10ms\"";
const ABOVE_TIME: &str = "is more than plugin.limits.time";

const TIMES: [Ends; 9] = [
    ("kafka.drain", &[("0s", ""), ("1ns", ""), ("100years", "for the commit contradicts"), ("101years", TOO_LONG)]),
    ("batch.max_wait", &[("0s", ""), ("1ns", ""), ("100years", ""), ("101years", TOO_LONG)]),
    (
        "plugin.limits.time",
        &[("0s", LEAST), ("1ns", LEAST), ("10ms", ""), ("100years", "a third"), ("101years", TOO_LONG)],
    ),
    (
        "plugin.limits.cpu",
        &[("0s", LEAST), ("1ns", LEAST), ("10ms", ""), ("100years", ABOVE_TIME), ("101years", TOO_LONG)],
    ),
    (
        "retry.initial",
        &[
            ("0s", "at least \"1ms\""),
            ("1ns", "at least \"1ms\""),
            ("999us", "at least \"1ms\""),
            ("1ms", ""),
            ("100years", "is longer than retry.max"),
            ("101years", TOO_LONG),
        ],
    ),
    ("retry.max", &[("0s", "is longer than"), ("1ns", "is longer than"), ("100years", ""), ("101years", TOO_LONG)]),
    (
        "producer.timeout",
        &[
            ("0s", "at least \"1s\""),
            ("1ns", "at least \"1s\""),
            ("999ms", "at least \"1s\""),
            ("1s", ""),
            ("100years", ""),
            ("101years", TOO_LONG),
        ],
    ),
    (
        "start.wait",
        &[
            ("0s", "at least \"100ms\""),
            ("1ns", "at least \"100ms\""),
            ("100ms", ""),
            ("100years", ""),
            ("101years", TOO_LONG),
        ],
    ),
    ("shutdown.grace", &[("0s", ""), ("1ns", ""), ("100years", ""), ("101years", TOO_LONG)]),
];

const MOST: &str = "18446744073709551615";

const SIZES: [Ends; 8] = [
    ("batch.max_bytes", &[("0", "needs room for a record"), ("1", ""), (MOST, "is more than half of")]),
    ("plugin.limits.memory", &[("0", "at least \"64 KiB\""), ("1", "at least \"64 KiB\""), (MOST, "above the most")]),
    ("plugin.limits.file", &[("0", ""), ("256 MiB", ""), ("257 MiB", "above the most"), (MOST, "above the most")]),
    ("plugin.limits.output", &[("0", ""), ("64 MiB", ""), (MOST, "above the most")]),
    ("plugin.limits.output_line", &[("0", ""), ("1 MiB", ""), (MOST, "above the most")]),
    ("plugin.limits.random", &[("0", ""), ("16 MiB", ""), (MOST, "above the most")]),
    ("plugin.limits.emitted_bytes", &[("0", ""), ("1", ""), (MOST, "")]),
    ("plugin.limits.record", &[("0", "at least 64"), ("1", "at least 64"), ("64", ""), (MOST, "is more than half of")]),
];

/// Paths of the keys whose values are of this type.
fn keys_of(kind: &str) -> BTreeSet<String> {
    let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
    let keys = schema::keys().into_iter().map(|key| key.path);
    let is = |path: &String| {
        let pointer = path.split('.').fold(schema.clone(), |section, key| {
            let property = section["properties"][key].clone();
            let named = property["$ref"].as_str().or_else(|| property["anyOf"][0]["$ref"].as_str());
            named.and_then(|name| schema.pointer(&name[1..]).cloned()).unwrap_or(property)
        });
        pointer["description"].as_str().is_some_and(|text| text.starts_with(kind))
    };
    keys.filter(is).collect()
}

fn set(path: &str, value: &str) -> Result<Loaded, ConfigError> {
    let mut request = Request::new(Path::new("g.toml"), BTreeMap::new());
    request.set(&format!("{path}={value}")).unwrap();
    load_text(GOOD.to_owned(), Notation::Toml, request)
}

#[test]
fn every_time_and_size_has_bounds_that_are_said() {
    let named = |ends: &[Ends]| ends.iter().map(|(path, _)| (*path).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(named(&TIMES), keys_of("A time with its unit"));
    assert_eq!(named(&SIZES), keys_of("A number of bytes"));
    for (path, ends) in TIMES.iter().chain(&SIZES) {
        for (value, wanted) in *ends {
            match (set(path, value), *wanted) {
                (Ok(loaded), "") => drop(loaded.config.consumer_settings(Instant::now())),
                (Err(error), "") => panic!("{path}={value} was refused: {error}"),
                (Ok(_), wanted) => panic!("{path}={value} was accepted and not refused with {wanted:?}"),
                (Err(error), wanted) => {
                    let text = error.to_string();
                    assert!(text.contains(wanted) && text.contains(path), "{path}={value}: {text}");
                }
            }
        }
    }
}
