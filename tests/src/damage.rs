//! Damages a batch in the file of a partition's log, as a failing disk or a faulty writer would.
//!
//! The broker must be down meanwhile; it gives out what lies in its files without looking into it.

use std::fs;
use std::ops::Range;
use std::path::Path;

use crate::wire::crc32c;

/// What is wrong with the batch afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// One bit is another one, and the checksum says so.
    Checksum,
    /// The checksum is right, and what it covers cannot be decompressed.
    Content,
}

/// Where a batch keeps its checksum, what the checksum covers, and its records.
const CHECKSUM: Range<usize> = 17..21;
const COVERED: usize = 21;
const RECORDS: usize = 61;

/// Damages the batch that holds the record at `offset`.
///
/// # Panics
///
/// When the file has no such batch.
pub fn damage(file: &Path, offset: i64, damage: Damage) {
    let mut bytes = fs::read(file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
    let place = batch_with(&bytes, offset).unwrap_or_else(|| panic!("no record {offset} in {}", file.display()));
    let batch = &mut bytes[place];
    match damage {
        Damage::Checksum => {
            if let Some(last) = batch.last_mut() {
                *last ^= 1;
            }
        }
        Damage::Content => {
            batch[RECORDS..].iter_mut().for_each(|byte| *byte = !*byte);
            let checksum = crc32c(&batch[COVERED..]);
            batch[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
        }
    }
    fs::write(file, bytes).unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
}

/// Cuts off the batch that holds the record at `offset`, and all behind it: the log of a replica that becomes the leader
/// without having had them.
///
/// # Panics
///
/// When the file has no such batch.
pub fn cut_off(file: &Path, offset: i64) {
    let mut bytes = fs::read(file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
    let place = batch_with(&bytes, offset).unwrap_or_else(|| panic!("no record {offset} in {}", file.display()));
    bytes.truncate(place.start);
    fs::write(file, bytes).unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
}

/// The bytes of the batch that holds the record at `offset`.
fn batch_with(log: &[u8], offset: i64) -> Option<Range<usize>> {
    let mut start = 0;
    loop {
        let first = i64::from_be_bytes(log.get(start..start + 8)?.try_into().ok()?);
        let number = |at: usize| log.get(start + at..start + at + 4)?.try_into().ok().map(i32::from_be_bytes);
        let end = start + 12 + usize::try_from(number(8)?).ok()?;
        let last = first + i64::from(number(23)?);
        if (first..=last).contains(&offset) {
            return (end <= log.len()).then_some(start..end);
        }
        start = end;
    }
}
