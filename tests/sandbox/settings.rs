//! Settings come as environment, and as key and value.

use crate::caller::{caller, grants};

#[test]
fn the_settings_are_in_the_store_as_well() {
    let mut granted = grants();
    granted.settings.insert("table".to_owned(), "orders".to_owned());
    granted.settings.insert("zone".to_owned(), String::new());
    let mut mill = caller(granted);
    assert_eq!(mill.call("setting table", ""), "Ok(Some(\"orders\"))");
    assert_eq!(mill.call("setting missing", ""), "Ok(None)");
    assert_eq!(mill.call("settings", ""), "[(\"table\", \"orders\"), (\"zone\", \"\")]");
}
