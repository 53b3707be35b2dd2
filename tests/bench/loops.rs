//! The loops that this program is itself, each in a process of its own: `--as NAME BOOTSTRAP TOPIC GROUP PARTITIONS RECORDS BATCH [SINK]`.
//!
//! A loop says `assigned` when it is, `read RECORDS BYTES SUM` when it has read and committed that many, and ends when its input does. So do
//! the peers in tests/peers. It must not know who else is measured.

#![expect(clippy::print_stdout, reason = "what a loop has to say is read by whoever measures it")]

mod base;
mod copy;
mod stream;
mod sum;

use crate::sys::queue;

/// What a loop has to do.
pub(crate) struct Task {
    pub(crate) bootstrap: String,
    pub(crate) topic: String,
    pub(crate) group: String,
    pub(crate) partitions: i32,
    pub(crate) records: usize,
    pub(crate) batch: usize,
    /// Where a copy of each record goes, where the loop makes some.
    pub(crate) sink: Option<String>,
}

impl Task {
    fn of(words: &[String]) -> Option<Self> {
        let [bootstrap, topic, group, partitions, records, batch, rest @ ..] = words else { return None };
        Some(Self {
            bootstrap: bootstrap.clone(),
            topic: topic.clone(),
            group: group.clone(),
            partitions: partitions.parse().ok()?,
            records: records.parse().ok()?,
            batch: batch.parse().ok()?,
            sink: rest.first().cloned(),
        })
    }
}

/// Tells that reading begins.
pub(crate) fn say_assigned() {
    println!("assigned");
}

/// What was read so far.
#[derive(Default)]
struct Seen {
    records: usize,
    bytes: u64,
    sum: u64,
}

impl Seen {
    fn touch(&mut self, value: Option<&[u8]>) {
        let value = value.unwrap_or_default();
        self.records += 1;
        self.bytes += value.len() as u64;
        self.sum += value.last().map_or(0, |last| u64::from(*last));
    }
}

/// Is the loop that the words name, until its input ends.
pub(crate) fn run(words: &[String]) -> ! {
    let Some((name, task)) = words.split_first().and_then(|(name, rest)| Some((name, Task::of(rest)?))) else {
        panic!("--as loop|copy|sum|base|stream BOOTSTRAP TOPIC GROUP PARTITIONS RECORDS BATCH [SINK]")
    };
    std::thread::spawn(end_with_input);
    let mut seen = Seen::default();
    match name.as_str() {
        "loop" => queue::run_through(&task, |_, value| seen.touch(value), |_| {}),
        "copy" => copy::run_through(&task, &mut seen),
        "base" => base::run_through(&task, &mut seen),
        "sum" => sum::run_through(&task, &mut seen),
        "stream" => stream::run_through(&task, &mut seen),
        other => panic!("there is no loop {other}"),
    }
    println!("read {} {} {}", seen.records, seen.bytes, seen.sum);
    loop {
        std::thread::park();
    }
}

#[expect(clippy::exit, reason = "whoever measures has seen enough, wherever the loop is")]
fn end_with_input() {
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    std::process::exit(0);
}
