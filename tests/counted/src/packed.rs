//! A batch made packed bytes, by the guest edge's own file. What is around that file knows wasmtime, which takes minutes to build.
//!
//! It must not know a guest.

#[allow(dead_code, reason = "the guest edge asks for more than is counted")]
#[path = "../../../host/guest/src/packed/batch.rs"]
mod batch;

use std::hint::black_box;

use self::batch::PackedBatch;
use crate::view::{BatchSource, HeaderView, RecordView, Timestamp};

/// What the file finds beside it at home.
const DATA_MAGIC: &[u8; 8] = b"gmbytes1";
const HEAD_BYTES: usize = 24;
const HEADER_BYTES: usize = 16;
const NULL: u32 = u32::MAX;

const RECORDS: usize = 10_000;
const VALUE: [u8; 100] = [b'0'; 100];

/// Records that follow each other in one partition.
const RUN: usize = 1_000;
const PARTITIONS: usize = 6;

/// Packs so many batches.
pub(crate) fn run(batches: u32) {
    for _ in 0..batches {
        let packed = PackedBatch::of(black_box(&Batch), u64::MAX);
        assert!(packed.is_some(), "a batch without a bound is packed");
        black_box(&packed);
    }
}

/// Records with a key and a value of a hundred bytes, as they come from Kafka.
struct Batch;

impl BatchSource for Batch {
    fn len(&self) -> usize {
        RECORDS
    }

    fn record(&self, index: usize) -> RecordView<'_> {
        RecordView {
            topic: "orders",
            partition: i32::try_from(index / RUN % PARTITIONS).unwrap_or_default(),
            offset: i64::try_from(index).unwrap_or_default(),
            timestamp: Timestamp::CreateTime(1_700_000_000_000),
            key: Some(&VALUE[..8]),
            value: Some(&VALUE),
        }
    }

    fn headers<'a>(&'a self, _: usize, _: &mut Vec<HeaderView<'a>>) {}
}
