//! The corpus beside an honest neighbour in one process: windows with hostile guests on another worker, and quiet ones between them, in
//! one run, so that whatever else the machine does slows both.
//!
//! Must not know how the neighbour works.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gristmill_guest::{Plugin, PluginSettings};
use gristmill_kafka::{MockCluster, MockRecord};

use crate::corpus::{Corpus, Row};
use crate::guests;
use crate::mill::{self, Mill};
use crate::neighbour::{self, Known};
use crate::row::Runner;
use crate::table::percentile;

const TOPIC: &str = "orders";
const PARTITIONS: i32 = 4;

/// Windows of each kind.
const WINDOWS: usize = 6;

/// How often records are produced.
const BEAT: Duration = Duration::from_millis(10);

/// How much of its throughput the neighbour keeps.
const KEPT_MIN: f64 = 0.9;

/// How long the neighbour may take to get going.
const START_MAX: Duration = Duration::from_secs(60);

/// How fast records come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// So many a second, whatever becomes of them.
    PerSecond(u64),
    /// As fast as they are committed: the neighbour never waits, and whatever else computes takes from it.
    FlatOut,
}

/// Runs the corpus beside the neighbour. Says what came of it; true when the neighbour kept its throughput (which is nobody's promise
/// where it computes without a pause) and was never lost to its group, and every guest ended as it should.
pub(crate) fn run(corpus: &Corpus, pace: Pace, mut say: impl FnMut(&str)) -> bool {
    let cluster = MockCluster::start(1).unwrap_or_else(|error| panic!("{error}"));
    cluster.create_topic(TOPIC, PARTITIONS).unwrap_or_else(|error| panic!("{error}"));
    let engine = mill::engine();
    let honest = Plugin::load(&engine, "noop", &guests::built("gristmill_noop"), &PluginSettings::default());
    let honest = honest.unwrap_or_else(|error| panic!("{error}"));
    let rows: Vec<(&Row, Runner)> =
        corpus.row.iter().map(|row| (row, Runner::load(&engine, row, mill::limits(row.until)))).collect();
    let known = Known::default();
    std::thread::scope(|scope| {
        let end = Over(&known.over);
        scope.spawn(|| neighbour::live(&cluster, TOPIC, &honest, &known));
        scope.spawn(|| produce(&cluster, pace, &known));
        let begun = Instant::now();
        while known.committed.load(Ordering::Relaxed) == 0 {
            assert!(begun.elapsed() < START_MAX, "the neighbour commits nothing");
            std::thread::sleep(BEAT);
        }
        let watched = watch(&rows, &known);
        drop(end);
        judge(pace, &watched, &known, &mut say)
    })
}

/// Ends the neighbour, also where something panics: the scope waits for it.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What was seen of the neighbour in windows of one kind.
#[derive(Default)]
struct Seen {
    /// Records a second, of each window.
    rates: Vec<f64>,
    /// How long its hand-overs took, in milliseconds.
    took_ms: Vec<f64>,
}

/// What was seen in all.
#[derive(Default)]
struct Watched {
    quiet: Seen,
    beside: Seen,
    guests: usize,
    wrong: Vec<String>,
}

/// Lets hostile windows and quiet ones of the same length take turns.
fn watch(rows: &[(&Row, Runner)], known: &Known) -> Watched {
    let mut watched = Watched::default();
    let mut mill = Mill::start();
    for share in rows.chunks(rows.len().div_ceil(WINDOWS)) {
        let mut window = Window::open(known);
        for (row, runner) in share {
            let end = runner.run(&mut mill);
            watched.guests += 1;
            if !row.expects(&end.class) {
                watched.wrong.push(format!("{} {}: {} {}", row.id, row.name(), end.class, end.says));
            }
        }
        let length = window.began.elapsed();
        window.close(known, &mut watched.beside);
        window = Window::open(known);
        std::thread::sleep(length);
        window.close(known, &mut watched.quiet);
    }
    watched
}

/// A time in which the neighbour is watched.
struct Window {
    began: Instant,
    committed: u64,
}

impl Window {
    fn open(known: &Known) -> Self {
        known.took_ms.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Self { began: Instant::now(), committed: known.committed.load(Ordering::Relaxed) }
    }

    fn close(&self, known: &Known, seen: &mut Seen) {
        let committed = known.committed.load(Ordering::Relaxed) - self.committed;
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no exact count")]
        seen.rates.push(committed as f64 / self.began.elapsed().as_secs_f64());
        seen.took_ms.append(&mut known.took_ms.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn judge(pace: Pace, watched: &Watched, known: &Known, say: &mut impl FnMut(&str)) -> bool {
    let Watched { quiet, beside, guests, wrong } = watched;
    let (before, now) = (median(&quiet.rates), median(&beside.rates));
    let troubles = known.troubles.lock().unwrap_or_else(PoisonError::into_inner);
    say(&format!(
        "{pace:?}: {guests} guests beside a neighbour that commits {before:.0} records/s without them and {now:.0} with them, {:.0} %; \
         its hand-overs take p50 {:.1} ms, p99 {:.1} ms without and p50 {:.1} ms, p99 {:.1} ms with them; {} of the guests wrong; {} \
         troubles of its own",
        100.0 * now / before,
        figure(&quiet.took_ms, 50),
        figure(&quiet.took_ms, 99),
        figure(&beside.took_ms, 50),
        figure(&beside.took_ms, 99),
        wrong.len(),
        troubles.len(),
    ));
    wrong.iter().chain(troubles.iter()).for_each(|words| say(&format!("NOT: {words}")));
    (pace == Pace::FlatOut || now >= KEPT_MIN * before) && wrong.is_empty() && troubles.is_empty()
}

fn median(rates: &[f64]) -> f64 {
    figure(rates, 50)
}

fn figure(figures: &[f64], percent: usize) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    percentile(&sorted, percent)
}

/// Produces until it is over.
fn produce(cluster: &MockCluster, pace: Pace, known: &Known) {
    let (begun, mut produced) = (Instant::now(), 0_u64);
    let value = [b'v'; 100];
    while !known.over.load(Ordering::Relaxed) {
        let due = match pace {
            Pace::PerSecond(records) => u64::try_from(begun.elapsed().as_millis()).unwrap_or(0) * records / 1_000,
            Pace::FlatOut => known.committed.load(Ordering::Relaxed) + 20_000,
        };
        while produced < due {
            let partition = i32::try_from(produced % PARTITIONS.unsigned_abs() as u64).unwrap_or(0);
            let record = MockRecord { partition, value: Some(&value), ..MockRecord::default() };
            cluster.produce(TOPIC, record).unwrap_or_else(|error| panic!("{error}"));
            produced += 1;
        }
        std::thread::sleep(BEAT);
    }
}
