//! What is read: a topic, what was put there, and in what batches it is to be taken.
//!
//! It must not know who reads it.

use gristmill_tests::{Loaded, create_topic, load_values, unique};

/// The form of a topic and of the batches that it is read in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) value_bytes: usize,
    pub(crate) codec: &'static str,
    pub(crate) partitions: i32,
    pub(crate) batch: usize,
    pub(crate) records: u64,
}

impl Shape {
    /// The same with another number of records, where one is wished for.
    pub(crate) fn with(&self, records: Option<u64>) -> Self {
        Self { records: records.unwrap_or(self.records), ..*self }
    }

    /// How it is told.
    pub(crate) fn told(&self) -> String {
        let Self { value_bytes, codec, partitions, batch, records } = self;
        let codec = if *codec == "none" { "uncompressed" } else { codec };
        let places = if *partitions == 1 { "1 partition".to_owned() } else { format!("{partitions} partitions") };
        format!("{records} records of {value_bytes} bytes, {codec}, in {places}, batches of {batch}")
    }
}

/// A topic that is read.
pub(crate) struct Course {
    pub(crate) bootstrap: String,
    pub(crate) topic: String,
    pub(crate) loaded: Loaded,
    pub(crate) batch: usize,
    /// What the values come to: the sum of their lengths, and of their last bytes. `None`: whoever put them there did not say.
    pub(crate) values: Option<Values>,
    /// Where copies go, where the readers make some.
    pub(crate) sink: Option<String>,
}

/// What values come to, in whatever order they are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Values {
    pub(crate) bytes: u64,
    pub(crate) sum: u64,
}

impl Course {
    /// Creates a topic with nothing in it.
    pub(crate) fn empty(bootstrap: &str, partitions: i32, batch: usize) -> Self {
        let topic = unique("bench");
        create_topic(bootstrap, &topic, partitions);
        let loaded = Loaded { partitions: (0..partitions).map(|partition| (partition, 0..0)).collect() };
        Self { bootstrap: bootstrap.to_owned(), topic, loaded, batch, values: Some(Values::default()), sink: None }
    }

    /// Creates a topic and fills it.
    pub(crate) fn load(bootstrap: &str, shape: &Shape) -> Self {
        let mut course = Self::empty(bootstrap, shape.partitions, shape.batch);
        course.load_more(shape, shape.records);
        course
    }

    /// Puts more records into it, the same number into each partition.
    pub(crate) fn load_more(&mut self, shape: &Shape, records: u64) {
        let width = shape.value_bytes;
        let value = |number| value(number, width);
        let each = records.div_ceil(shape.partitions.unsigned_abs().into());
        load_values(&self.bootstrap, &self.topic, &mut self.loaded, each, shape.codec, value);
        if let Some(values) = &mut self.values {
            let partitions = u64::from(shape.partitions.unsigned_abs());
            values.bytes += each * partitions * width as u64;
            // The last digit of each number.
            values.sum += (0..each).map(|number| u64::from(b'0') + number % 10).sum::<u64>() * partitions;
        }
    }

    /// How many records are there.
    pub(crate) fn records(&self) -> u64 {
        self.loaded.records().unsigned_abs()
    }

    /// In how many partitions.
    pub(crate) fn partitions(&self) -> usize {
        self.loaded.partitions.len()
    }
}

/// A value that a codec makes about half as large: letters that follow no rule, then a number with zeros before it.
fn value(number: i64, width: usize) -> Vec<u8> {
    let mut value = Vec::with_capacity(width);
    let mut state = number.unsigned_abs();
    while value.len() < width / 2 {
        // The finalizer of a splitmix generator: eight bytes of chance for each step.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value.extend((mixed ^ (mixed >> 31)).to_le_bytes().map(|byte| b'A' + byte % 32));
    }
    value.truncate(width / 2);
    let rest = width - value.len();
    value.extend(format!("{number:0rest$}").into_bytes());
    value
}
