//! The host as it is measured: started on a configuration, and asked at its end what it did.
//!
//! It must not know what it is compared with.

use std::time::Duration;

use gristmill_tests::Host;

use crate::course::Course;

/// How long it may take to end.
const END_WITHIN: Duration = Duration::from_secs(60);

/// Starts it on all that is in a topic, as a new group. `batch` is more of that section of the configuration, `plugin` that section, and
/// whatever comes behind it.
pub(crate) fn start(course: &Course, group: &str, batch: &str, plugin: &str) -> Host {
    let Course { bootstrap, topic, batch: records, .. } = course;
    Host::run(&format!(
        "[kafka]\nbootstrap_servers = {bootstrap:?}\ngroup_id = {group:?}\ntopics = [{topic:?}]\n\
         auto_offset_reset = \"earliest\"\n[batch]\nmax_records = {records}\n{batch}\n\
         [plugin]\n{plugin}"
    ))
}

/// Stops it, and fails unless it committed so many records, each of which it handed over once.
pub(crate) fn end(host: Host, records: u64) {
    host.signal("TERM");
    let (code, lines) = host.wait_for_end(END_WITHIN);
    assert_eq!(code, 0, "{}", lines.join("\n"));
    let last = lines.iter().rev().find(|line| line.contains("\"stopped\""));
    let Some(last) = last else { panic!("it does not say what it did:\n{}", lines.join("\n")) };
    let said: serde_json::Value = serde_json::from_str(last).unwrap_or_default();
    let said = |field: &str| find(&said, field).unwrap_or(u64::MAX);
    assert_eq!((said("committed"), said("handed_over"), said("redelivered")), (records, records, 0), "{last}");
}

/// A number of that name, however deep.
fn find(value: &serde_json::Value, field: &str) -> Option<u64> {
    let fields = value.as_object()?;
    fields.get(field).and_then(serde_json::Value::as_u64).or_else(|| fields.values().find_map(|it| find(it, field)))
}
