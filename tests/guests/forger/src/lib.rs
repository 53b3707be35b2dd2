//! A guest whose answers are not as `wit/raw.md` has them. Nothing outside the tests may load this.
//!
//! The key of the first record is `rejected N`, `emitted N` or `headers N`: effects with so many rows of that kind, which all name the same
//! byte. With any other key the answer is ok with that key as the index and the value as the data.

use gristmill_plugin::bindings::raw::exports::gristmill::plugin::raw_handler::{RawEffects, RawOutcome};

const HEAD_BYTES: usize = 24;

/// Answers as the first record says.
#[cfg_attr(not(target_family = "wasm"), expect(dead_code, reason = "only a wasm build exports anything"))]
fn answer(index: &[u8], data: &[u8]) -> RawOutcome {
    let span = |at: usize| {
        let number = |at: usize| u32::from_le_bytes([index[at], index[at + 1], index[at + 2], index[at + 3]]) as usize;
        data.get(number(at)..).and_then(|rest| rest.get(..number(at + 4))).unwrap_or_default()
    };
    let (key, value) = (span(HEAD_BYTES + 24), span(HEAD_BYTES + 32));
    let told = std::str::from_utf8(key).ok().and_then(|key| key.split_once(' '));
    let effects = match told.and_then(|(word, count)| Some((word, count.parse().ok()?))) {
        Some(("rejected", count)) => many([count, 0, 0]),
        Some(("emitted", count)) => many([0, count, 0]),
        Some(("headers", count)) => many([0, 1, count]),
        _ => RawEffects { index: key.to_vec(), data: value.to_vec() },
    };
    RawOutcome::Ok(effects)
}

/// Effects with so many rows of each kind. All headers belong to the first emitted record.
fn many(counts: [u32; 3]) -> RawEffects {
    let [rejected, emitted, headers] = counts;
    let mut index = b"gmeffec1".to_vec();
    index.reserve_exact(16 + 16 * rejected as usize + 48 * emitted as usize + 16 * headers as usize);
    let mut rows = |numbers: &[u32]| numbers.iter().for_each(|number| index.extend_from_slice(&number.to_le_bytes()));
    rows(&[rejected, emitted, headers, 0]);
    (0..rejected).for_each(|record| rows(&[record, 8, 1, 0]));
    // To the sink `x`, with the key and the value `x`, from no record; after the first without headers.
    (0..emitted).for_each(|number| {
        let (first, count) = if number == 0 { (0, headers) } else { (headers, 0) };
        rows(&[8, 1, 8, 1, 8, 1, 0, 0, 0, first, count, 0]);
    });
    (0..headers).for_each(|_| rows(&[8, 1, 8, 1]));
    RawEffects { index, data: b"gmbytes1x".to_vec() }
}

#[cfg(target_family = "wasm")]
mod exports {
    use gristmill_plugin::bindings::plugin::gristmill::plugin::types::BatchInfo;
    use gristmill_plugin::bindings::raw;
    use gristmill_plugin::bindings::raw::exports::gristmill::plugin::raw_handler::RawOutcome;

    struct Forger;

    impl raw::exports::gristmill::plugin::raw_handler::Guest for Forger {
        fn process_batch(_: BatchInfo, index: Vec<u8>, data: Vec<u8>) -> RawOutcome {
            super::answer(&index, &data)
        }
    }

    gristmill_plugin::bindings::raw::export_raw!(Forger with_types_in gristmill_plugin::bindings::raw);
}
