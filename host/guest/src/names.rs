//! Names in a component that cost more than they tell: sections of them beyond a bound are hidden from the compiler.
//!
//! Names of functions are for the frames of a trap and for nothing else. A file may carry tens of megabytes of them.

use wasmparser::{Parser, Payload};

/// Bytes of names that a component keeps. The largest of a supported toolchain, CPython unstripped, has less than a half.
const NAME_BYTES_MAX: u64 = 4 << 20;

/// Hides the sections of names behind the first [`NAME_BYTES_MAX`] bytes of them, in place: under another name of the same length a
/// section means nothing to anybody.
pub(crate) fn mute(component: &mut [u8]) {
    let mut kept_bytes = 0_u64;
    for at in excess(component, &mut kept_bytes) {
        component[at..at + NAME.len()].copy_from_slice(MUTED);
    }
}

const NAME: &[u8; 4] = b"name";
const MUTED: &[u8; 4] = b"mute";

/// Where the names of the sections begin that are too much.
fn excess(component: &[u8], kept_bytes: &mut u64) -> Vec<usize> {
    let mut places = Vec::new();
    // What cannot be read is for the validator to refuse.
    for payload in Parser::new(0).parse_all(component).map_while(Result::ok) {
        let Payload::CustomSection(section) = payload else { continue };
        if section.name().as_bytes() != NAME {
            continue;
        }
        *kept_bytes = kept_bytes.saturating_add(section.data().len() as u64);
        let place = section.data_offset() - NAME.len();
        if *kept_bytes > NAME_BYTES_MAX && component.get(place..place + NAME.len()) == Some(NAME) {
            places.push(place);
        }
    }
    places
}
