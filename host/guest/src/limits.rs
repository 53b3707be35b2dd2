//! What a guest may use up, and the meter that sums it over a whole store.
//!
//! wasmtime's own limits hold per memory: ninety memories of 64 MiB pass them. The meter adds up every memory and table, and
//! remembers what it refused, because a trap's own text never says that memory was the cause.

use std::time::Duration;

use wasmtime::ResourceLimiter;

/// What one hand-over of a plugin may use. Every field is a hard bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all memories and tables of an instance together. When reached, growth fails inside the guest.
    pub memory_bytes: u64,
    /// Wall-clock time of one hand-over: start of the instance, `init`, the batch's way in, the call, waits in host calls.
    pub time: Duration,
    /// Processor time of the same. Waits in host calls do not count, nor does time in which a crowded machine ran something
    /// else.
    pub cpu: Duration,
    /// How long a cancelled guest may go on before it is ended by force. It can ask `control.cancelled` meanwhile.
    pub cancel_grace: Duration,
    /// Core instances per store. When reached, the guest does not start.
    pub instances: usize,
    /// Memories per store. When reached, the guest does not start.
    pub memories: usize,
    /// Tables per store. When reached, the guest does not start.
    pub tables: usize,
    /// Open host resources (streams, pollables). When reached, the host call traps.
    pub resources: usize,
    /// Random bytes per host call. When asked for more, the host call traps.
    pub random_bytes: u64,
    /// Bytes that one answer or one host call may copy out of the guest, if the batch itself is not half as large. Beside these,
    /// there is room to reject every record and for what may be emitted. When reached, the call traps.
    pub copy_bytes: u64,
    /// Records that one answer may emit. An answer with more is no answer.
    pub emitted_records: usize,
    /// Bytes that one answer may emit: keys, values, names and values of headers,
    /// [128](crate::EMITTED_RECORD_OVERHEAD_BYTES) for each record and [64](crate::EMITTED_HEADER_OVERHEAD_BYTES) for each header;
    /// never more than `memory_bytes`. An answer with more is no answer.
    pub emitted_bytes: u64,
    /// Bytes of one line of output. What is longer is cut, with a mark.
    pub output_line_bytes: usize,
    /// Bytes of output per second and stream, of all instances of a loaded plugin together; a line counts as 64 at the least.
    /// What is more is dropped and counted.
    pub output_bytes_per_second: u64,
    /// Bytes of a plugin's file. A larger one is refused.
    pub file_bytes: u64,
}

impl Limits {
    /// The strict profile.
    pub const STRICT: Self = Self {
        memory_bytes: 64 << 20,
        time: Duration::from_secs(5),
        cpu: Duration::from_secs(2),
        cancel_grace: Duration::from_millis(200),
        instances: 64,
        memories: 4,
        tables: 64,
        resources: 1_024,
        random_bytes: 64 << 10,
        copy_bytes: 4 << 20,
        emitted_records: 100_000,
        emitted_bytes: 64 << 20,
        output_line_bytes: 4 << 10,
        output_bytes_per_second: 64 << 10,
        file_bytes: 32 << 20,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::STRICT
    }
}

/// A growth that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overgrowth {
    /// Bytes that the guest would have had in all.
    pub(crate) asked_bytes: u64,
}

/// Sums what a store holds, and refuses what goes beyond.
#[derive(Debug)]
pub(crate) struct Meter {
    limit_bytes: u64,
    instances: usize,
    memories: usize,
    tables: usize,
    held_bytes: u64,
    /// What the growth in progress added, to be taken back when it fails in spite of us.
    growing_bytes: u64,
    overgrowth: Option<Overgrowth>,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            limit_bytes: limits.memory_bytes,
            instances: limits.instances,
            memories: limits.memories,
            tables: limits.tables,
            held_bytes: 0,
            growing_bytes: 0,
            overgrowth: None,
        }
    }

    /// Bytes in all memories and tables.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// The last growth that was refused since this was last asked.
    pub(crate) fn take_overgrowth(&mut self) -> Option<Overgrowth> {
        self.overgrowth.take()
    }

    fn grow(&mut self, by_bytes: u64) -> bool {
        let asked_bytes = self.held_bytes.saturating_add(by_bytes);
        let granted = asked_bytes <= self.limit_bytes;
        if granted {
            self.held_bytes = asked_bytes;
            self.growing_bytes = by_bytes;
        } else {
            self.overgrowth = Some(Overgrowth { asked_bytes });
        }
        granted
    }

    fn shrink(&mut self) {
        self.held_bytes = self.held_bytes.saturating_sub(std::mem::take(&mut self.growing_bytes));
    }
}

/// What one element of a table costs the host: a pointer.
const TABLE_ELEMENT_BYTES: u64 = 8;

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.grow(desired.saturating_sub(current) as u64))
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.shrink();
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let elements = desired.saturating_sub(current) as u64;
        Ok(self.grow(elements.saturating_mul(TABLE_ELEMENT_BYTES)))
    }

    fn table_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.shrink();
        Ok(())
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        self.tables
    }

    fn memories(&self) -> usize {
        self.memories
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(memory_bytes: u64) -> Meter {
        Meter::new(&Limits { memory_bytes, ..Limits::STRICT })
    }

    #[test]
    fn memories_and_tables_are_summed() {
        let mut meter = meter(100);
        assert!(meter.memory_growing(0, 60, None).unwrap());
        assert!(meter.table_growing(0, 5, None).unwrap());
        assert_eq!(meter.held_bytes(), 100);
        assert!(!meter.memory_growing(0, 1, None).unwrap());
    }

    #[test]
    fn a_refused_growth_is_remembered_with_what_was_asked() {
        let mut meter = meter(100);
        assert!(!meter.memory_growing(0, 130, None).unwrap());
        assert_eq!(meter.take_overgrowth(), Some(Overgrowth { asked_bytes: 130 }));
        assert_eq!(meter.take_overgrowth(), None);
    }

    #[test]
    fn a_growth_that_failed_anyway_is_taken_back() {
        let mut meter = meter(100);
        assert!(meter.memory_growing(10, 60, Some(20)).unwrap());
        meter.memory_grow_failed(wasmtime::Error::msg("beyond its own maximum")).unwrap();
        assert_eq!(meter.held_bytes(), 0);
    }
}
