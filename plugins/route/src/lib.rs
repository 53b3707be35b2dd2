//! Emits a copy of each record to the sink that a field of its JSON value chooses, and rejects what no sink is for.
//!
//! Settings: `field` names the field, as a name of the topmost object or, beginning with `/`, as a JSON Pointer. `route.VALUE`
//! names the sink for records whose field has that value; numbers, true and false count as they are written in JSON. `default`
//! names the sink for what no route is for: other values, no such field, tombstones. Without it such a record is rejected, as is
//! what is no JSON in any case. Settings that make no sense keep the plugin from starting.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use gristmill_plugin::{Batch, Failure, OutputRecord, Record, fatal, handler, settings};
use serde_json::Value;

handler!(process, init = start);

/// What a setting's name begins with when it is a route.
const ROUTE: &str = "route.";

/// How much of a value is told that no route is for.
const VALUE_CHARS_MAX: usize = 80;

/// Which field leads where.
#[derive(Debug)]
struct Routes {
    field: String,
    by_value: BTreeMap<String, String>,
    default: Option<String>,
}

impl Routes {
    fn from_settings(settings: impl IntoIterator<Item = (String, String)>) -> Result<Self, String> {
        let (mut field, mut by_value, mut default) = (None, BTreeMap::new(), None);
        for (name, text) in settings {
            match (name.as_str(), name.strip_prefix(ROUTE)) {
                ("field", _) => field = Some(text),
                ("default", _) => default = Some(text),
                (_, Some(value)) => drop(by_value.insert(value.to_owned(), text)),
                (other, None) => {
                    return Err(format!("there is no setting {other}; known are field, route.VALUE and default"));
                }
            }
        }
        let field = field.ok_or("the setting field is missing: which field of a value chooses the sink?")?;
        if by_value.is_empty() && default.is_none() {
            return Err("there is neither a setting route.VALUE nor default, so no record could go anywhere".to_owned());
        }
        Ok(Self { field, by_value, default })
    }

    /// The sink for a record, or why there is none.
    fn sink(&self, record: Record<'_>) -> Result<&str, Astray> {
        let value = match record.value() {
            None => Err(Astray::Tombstone),
            Some(bytes) => {
                let value: Value = serde_json::from_slice(bytes).map_err(Astray::NoJson)?;
                self.text_of(&value).ok_or_else(|| Astray::NoField(self.field.clone()))
            }
        };
        let known = value.and_then(|text| {
            let sink = self.by_value.get(&text);
            sink.ok_or_else(|| Astray::Unknown { field: self.field.clone(), text })
        });
        known.or_else(|astray| self.default.as_ref().ok_or(astray)).map(String::as_str)
    }

    /// The field as it stands in the names of routes. Lists, objects and null are the value of no route.
    fn text_of(&self, value: &Value) -> Option<String> {
        let field = if self.field.starts_with('/') { value.pointer(&self.field) } else { value.get(&self.field) };
        match field? {
            Value::String(text) => Some(text.clone()),
            other @ (Value::Number(_) | Value::Bool(_)) => Some(other.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

/// Why no sink is for a record.
#[derive(Debug)]
enum Astray {
    Tombstone,
    NoJson(serde_json::Error),
    NoField(String),
    Unknown { field: String, text: String },
}

impl fmt::Display for Astray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tombstone => f.write_str("it has no value (a tombstone), and no default sink is set"),
            Self::NoJson(error) => write!(f, "its value is not JSON: {error}"),
            Self::NoField(field) => write!(f, "its value has no text, number, true or false at {field}"),
            Self::Unknown { field, text } => {
                let shown: String = text.chars().take(VALUE_CHARS_MAX).collect();
                write!(f, "no route is for the value {shown:?} of {field}")
            }
        }
    }
}

/// The routes of this instance, read once.
fn routes() -> Result<&'static Routes, String> {
    static ROUTES: OnceLock<Result<Routes, String>> = OnceLock::new();
    ROUTES.get_or_init(|| Routes::from_settings(settings())).as_ref().map_err(String::clone)
}

fn start() -> Result<(), String> {
    routes().map(drop)
}

fn process(batch: &Batch) -> Result<(), Failure> {
    route(batch, routes().map_err(fatal)?);
    Ok(())
}

fn route(batch: &Batch, routes: &Routes) {
    for record in batch {
        match routes.sink(record) {
            Ok(sink) => batch.emit(sink, OutputRecord::copy_of(record)),
            Err(astray) => batch.reject(record, astray),
        }
    }
}

#[cfg(test)]
mod tests {
    use gristmill_plugin::{Effects, Fixture, FixtureRecord, Outcome, run_batch};

    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<Routes, String> {
        Routes::from_settings(settings.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())))
    }

    /// Where each value goes: the name of a sink, or why it was rejected.
    fn routed(settings: &[(&str, &str)], values: &[Option<&str>]) -> Vec<String> {
        let routes = read(settings).unwrap();
        let records =
            values.iter().map(|value| value.map_or(FixtureRecord::new(), |value| FixtureRecord::new().value(value)));
        let fixture = records.fold(Fixture::new(), Fixture::record);
        let Outcome::Ok(Effects { rejected, emitted }) = run_batch(|batch| route(batch, &routes), fixture) else {
            panic!("not ok")
        };
        let mut routed = vec![String::new(); values.len()];
        emitted.iter().for_each(|record| routed[record.source.unwrap()] += &record.sink);
        rejected.iter().for_each(|rejection| routed[rejection.index] += &rejection.reason);
        routed
    }

    #[test]
    fn a_field_chooses_the_sink_and_what_no_route_is_for_is_rejected() {
        let settings = [("field", "kind"), ("route.order", "orders"), ("route.7", "sevens"), ("route.true", "truths")];
        let values = [
            Some(r#"{"kind":"order"}"#),
            Some(r#"{"kind":7}"#),
            Some(r#"{"kind":true}"#),
            Some(r#"{"kind":"refund"}"#),
            Some(r#"{"kind":["order"]}"#),
            Some(r#"{"king":"order"}"#),
            Some("[1]"),
            Some("order"),
            None,
        ];
        let routed = routed(&settings, &values);
        assert_eq!(routed[..3], ["orders", "sevens", "truths"]);
        assert_eq!(routed[3], "no route is for the value \"refund\" of kind");
        for other in &routed[4..7] {
            assert_eq!(other, "its value has no text, number, true or false at kind");
        }
        assert!(routed[7].starts_with("its value is not JSON: expected value"), "{}", routed[7]);
        assert!(routed[8].starts_with("it has no value (a tombstone)"), "{}", routed[8]);
    }

    #[test]
    fn the_default_takes_all_but_what_is_no_json() {
        let values = [Some(r#"{"kind":"refund"}"#), Some("{}"), None, Some("{")];
        let routed = routed(&[("field", "kind"), ("default", "rest")], &values);
        assert_eq!(routed[..3], ["rest", "rest", "rest"]);
        assert!(routed[3].starts_with("its value is not JSON"), "{}", routed[3]);
    }

    #[test]
    fn a_pointer_reaches_into_the_value() {
        let settings = [("field", "/order/lines/0/sku"), ("route.a~/b", "odd")];
        assert_eq!(routed(&settings, &[Some(r#"{"order":{"lines":[{"sku":"a~/b"}]}}"#)]), ["odd"]);
    }

    #[test]
    fn a_record_is_copied_with_all_that_it_has() {
        let routes = read(&[("field", "kind"), ("default", "rest")]).unwrap();
        let record = FixtureRecord::new().key("k").value("{}").header("h", None).header("h", Some(b"2"));
        let Outcome::Ok(effects) = run_batch(|batch| route(batch, &routes), Fixture::new().record(record)) else {
            panic!("not ok")
        };
        let copy = &effects.emitted[0];
        assert_eq!(
            (copy.key.as_deref(), copy.value.as_deref(), copy.headers.len()),
            (Some(&b"k"[..]), Some(&b"{}"[..]), 2)
        );
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        for (settings, words) in [
            (&[][..], "the setting field is missing"),
            (&[("field", "kind")], "neither a setting route.VALUE nor default"),
            (&[("field", "kind"), ("defualt", "rest")], "there is no setting defualt"),
        ] {
            let error = read(settings).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_long_value_is_told_in_short() {
        let value = format!(r#"{{"kind":"{}"}}"#, "x".repeat(10_000));
        let routed = routed(&[("field", "kind"), ("route.a", "b")], &[Some(&value)]);
        assert!(routed[0].len() < 200, "{}", routed[0]);
    }
}
