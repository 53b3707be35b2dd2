//! Cuts what may be long to what a line that people read can hold.
//!
//! It does not know what the text means.

use gristmill_guest::shortened;

/// How much of a reason is repeated where something else has to be read as well: the way out.
const REASON_CHARS_MAX: usize = 200;

/// The beginning of a reason. The whole of it stands where it arose: in the event of the fault, or in the answer of the plugin.
pub(crate) fn short_reason(reason: &str) -> String {
    shortened(reason, REASON_CHARS_MAX)
}
