//! librdkafka's list of partitions, each with an offset, an error and metadata.
//!
//! Copies names and metadata in and out; knows nothing of what a list is used for.

use std::ffi::{CStr, CString};
use std::ptr::NonNull;

use rdkafka_sys as rd;

use super::{Code, check};

/// An owned list.
pub(crate) struct List(NonNull<rd::rd_kafka_topic_partition_list_t>);

/// One entry of a list, copied out.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The topic's name, as the client has it.
    pub(crate) topic: CString,
    /// The partition's number.
    pub(crate) partition: i32,
    /// The offset; negative values have librdkafka's meanings.
    pub(crate) offset: i64,
    /// The leader epoch, where there is one.
    pub(crate) leader_epoch: Option<i32>,
    /// The metadata of a commit.
    pub(crate) metadata: Vec<u8>,
    /// What happened to this entry.
    pub(crate) result: Result<(), Code>,
}

// SAFETY: the list is plain memory that only its owner reaches; librdkafka binds it to no thread.
unsafe impl Send for List {}

impl List {
    /// An empty list.
    pub(crate) fn new() -> Self {
        // SAFETY: allocates; librdkafka aborts the process itself when memory is out, so the result is never null.
        Self(unsafe { NonNull::new_unchecked(rd::rd_kafka_topic_partition_list_new(8)) })
    }

    /// A list of partitions at these offsets.
    pub(crate) fn of<'a>(rows: impl IntoIterator<Item = (&'a CStr, i32, i64)>) -> Self {
        let mut list = Self::new();
        for (topic, partition, offset) in rows {
            list.push(topic, partition, offset);
        }
        list
    }

    /// Adds a partition at an offset.
    pub(crate) fn push(&mut self, topic: &CStr, partition: i32, offset: i64) {
        // SAFETY: the list is owned; the name is copied; the entry that is returned lives until the next change.
        unsafe {
            let row = rd::rd_kafka_topic_partition_list_add(self.0.as_ptr(), topic.as_ptr(), partition);
            (*row).offset = offset;
        }
    }

    /// Adds a partition at an offset, with the leader epoch of the record before it and the metadata of a commit.
    pub(crate) fn push_with_epoch(
        &mut self,
        topic: &CStr,
        partition: i32,
        offset: i64,
        epoch: Option<i32>,
        metadata: &[u8],
    ) {
        // SAFETY: as in `push`. The metadata lives in memory of C's allocator, which librdkafka frees with the list.
        unsafe {
            let row = rd::rd_kafka_topic_partition_list_add(self.0.as_ptr(), topic.as_ptr(), partition);
            (*row).offset = offset;
            rd::rd_kafka_topic_partition_set_leader_epoch(row, epoch.unwrap_or(-1));
            if !metadata.is_empty() {
                let copy = rd::rd_kafka_mem_malloc(std::ptr::null_mut(), metadata.len());
                if !copy.is_null() {
                    std::ptr::copy_nonoverlapping(metadata.as_ptr(), copy.cast::<u8>(), metadata.len());
                    (*row).metadata = copy;
                    (*row).metadata_size = metadata.len();
                }
            }
        }
    }

    /// Gives every entry the same offset.
    pub(crate) fn set_all_offsets(&mut self, offset: i64) {
        // SAFETY: the list is owned and valid: `elems` holds `cnt` initialised entries, or `cnt` is zero.
        unsafe {
            let list = self.0.as_mut();
            for index in 0..usize::try_from(list.cnt).unwrap_or(0) {
                (*list.elems.add(index)).offset = offset;
            }
        }
    }

    /// Copies the entries out.
    pub(crate) fn rows(&self) -> Vec<Row> {
        // SAFETY: the list is owned and valid.
        unsafe { rows_of(self.0.as_ptr()) }
    }

    /// The raw list, for a call that borrows it.
    pub(super) fn as_ptr(&self) -> *mut rd::rd_kafka_topic_partition_list_t {
        self.0.as_ptr()
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: owned, and never used after.
        unsafe { rd::rd_kafka_topic_partition_list_destroy(self.0.as_ptr()) }
    }
}

/// Copies the entries of a list that someone else owns. Null gives none.
///
/// # Safety
///
/// `list` is null or points to a valid list that nobody changes meanwhile.
pub(super) unsafe fn rows_of(list: *const rd::rd_kafka_topic_partition_list_t) -> Vec<Row> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller promises a valid list: `elems` holds `cnt` initialised entries, or `cnt` is zero.
    let entries = unsafe {
        match usize::try_from((*list).cnt) {
            Ok(count) if count > 0 => std::slice::from_raw_parts((*list).elems, count),
            _ => &[],
        }
    };
    entries
        .iter()
        .map(|entry| {
            // SAFETY: an entry's topic is zero-terminated; its metadata is null or `metadata_size` bytes long.
            unsafe {
                let epoch = rd::rd_kafka_topic_partition_get_leader_epoch(entry);
                let metadata = if entry.metadata.is_null() {
                    Vec::new()
                } else {
                    std::slice::from_raw_parts(entry.metadata.cast::<u8>(), entry.metadata_size).to_vec()
                };
                Row {
                    topic: CStr::from_ptr(entry.topic).to_owned(),
                    partition: entry.partition,
                    offset: entry.offset,
                    leader_epoch: (epoch >= 0).then_some(epoch),
                    metadata,
                    result: check(entry.err),
                }
            }
        })
        .collect()
}
