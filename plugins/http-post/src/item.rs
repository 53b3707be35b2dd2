//! What of a record is sent, and how many records go into one request.
//!
//! It must not know what the request looks like.

use gristmill_plugin::{Batch, Record};

use crate::part;
use crate::settings::{Settings, Tombstones};

/// A record and what of it is sent: JSON as it is written in the value.
#[derive(Clone, Copy)]
pub(crate) struct Item<'a> {
    pub(crate) record: Record<'a>,
    pub(crate) json: &'a str,
}

/// The items of a batch. A record that makes none is rejected, unless there is nothing to do for it.
pub(crate) fn items<'b>(settings: &Settings, batch: &'b Batch) -> Vec<Item<'b>> {
    let mut items = Vec::with_capacity(batch.len());
    for record in batch {
        match item(settings, record) {
            Ok(item) => items.extend(item),
            Err(reason) => batch.reject(record, reason),
        }
    }
    items
}

fn item<'a>(settings: &Settings, record: Record<'a>) -> Result<Option<Item<'a>>, String> {
    let Some(value) = record.value() else {
        return match settings.tombstones {
            Tombstones::Skip => Ok(None),
            Tombstones::Reject => {
                Err("it has no value (a tombstone), and the setting tombstones does not say skip".to_owned())
            }
        };
    };
    let json = part::whole(value).map_err(|error| format!("its value is not JSON: {error}"))?;
    let json = part::inside(json, &settings.field)
        .ok_or_else(|| format!("its value has nothing at /{}", settings.field.join("/")))?;
    if json.len() > settings.bytes_max {
        return Err(format!(
            "what is sent of it has {} bytes, more than the {} of max_bytes",
            json.len(),
            settings.bytes_max
        ));
    }
    Ok(Some(Item { record, json }))
}

/// How many of the items the next request takes: as many as the limits allow and no more than `records_max`, and one at least.
pub(crate) fn fitting(settings: &Settings, items: &[Item<'_>], records_max: usize) -> usize {
    let mut bytes = 0;
    let fits = |item: &&Item<'_>| {
        // With what stands between two values.
        bytes += item.json.len() + 1;
        bytes <= settings.bytes_max
    };
    items.iter().take(records_max).take_while(fits).count().max(1).min(items.len())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use gristmill_plugin::{Fixture, FixtureRecord, Outcome, run_batch};

    use super::*;

    /// The values of each request with blanks between, and why records were rejected.
    fn cut(settings: &[(&str, &str)], records: Vec<FixtureRecord>) -> (Vec<String>, Vec<String>) {
        let settings =
            [("url", "http://a")].iter().chain(settings).map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let settings = Settings::read(settings).unwrap();
        let seen = RefCell::new(Vec::new());
        let look = |batch: &Batch| {
            let items = items(&settings, batch);
            let mut left = items.as_slice();
            while !left.is_empty() {
                let (request, rest) = left.split_at(fitting(&settings, left, settings.records_max));
                seen.borrow_mut().push(request.iter().map(|item| item.json).collect::<Vec<_>>().join(" "));
                left = rest;
            }
        };
        let outcome = run_batch(look, records.into_iter().fold(Fixture::new(), Fixture::record));
        let Outcome::Ok(effects) = outcome else { panic!("not ok") };
        (seen.into_inner(), effects.rejected.into_iter().map(|rejection| rejection.reason).collect())
    }

    fn values(values: &[&str]) -> Vec<FixtureRecord> {
        values.iter().map(|value| FixtureRecord::new().value(*value)).collect()
    }

    #[test]
    fn requests_hold_as_much_as_they_may() {
        let five = || values(&["1", "2", "3", "4", "5"]);
        assert_eq!(cut(&[("max_records", "2")], five()).0, ["1 2", "3 4", "5"]);
        assert_eq!(cut(&[("max_bytes", "4")], five()).0, ["1 2", "3 4", "5"]);
        assert_eq!(cut(&[("max_bytes", "1")], five()).0, ["1", "2", "3", "4", "5"]);
        assert_eq!(cut(&[], five()).0, ["1 2 3 4 5"]);
        assert_eq!(cut(&[], vec![]).0, [""; 0]);
    }

    #[test]
    fn a_field_is_sent_as_it_is_written() {
        let records = values(&[r#"{"a":[{"b": 1.10}]}"#, r#"{"a":[]}"#, r#"{"a":7}"#, "7"]);
        let (sent, rejected) = cut(&[("field", "/a/0/b")], records);
        assert_eq!(sent, ["1.10"]);
        assert_eq!(rejected, ["its value has nothing at /a/0/b"; 3]);
        assert_eq!(cut(&[("field", "p")], values(&[r#"{"p":"pkg:npm/a@1"}"#])).0, ["\"pkg:npm/a@1\""]);
    }

    #[test]
    fn what_cannot_be_sent_is_rejected() {
        let records =
            || vec![FixtureRecord::new(), FixtureRecord::new().value("{"), FixtureRecord::new().value("\"long\"")];
        let (sent, rejected) = cut(&[("max_bytes", "5")], records());
        assert_eq!(sent, [""; 0]);
        for (reason, words) in rejected.iter().zip([
            "it has no value (a tombstone)",
            "its value is not JSON: EOF",
            "has 6 bytes, more than the 5",
        ]) {
            assert!(reason.contains(words), "{reason}");
        }
        assert_eq!(cut(&[("tombstones", "skip")], records()).1.len(), 1);
    }
}
