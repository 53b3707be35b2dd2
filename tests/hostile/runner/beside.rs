//! The corpus beside an honest neighbour in one process: windows with hostile guests on another worker, and quiet ones between them, in
//! one run, so that whatever else the machine does slows both.
//!
//! Must not know how the neighbour works.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gristmill_guest::{Compile, CompileLimits, Engine, EngineSettings, Plugin, PluginSettings};
use gristmill_kafka::{MockCluster, MockRecord};
use gristmill_tests::bombs;

use crate::corpus::{Corpus, Row};
use crate::guests;
use crate::mill::{self, Mill};
use crate::neighbour::{self, Known};
use crate::row::Runner;
use crate::table::percentile;

const TOPIC: &str = "orders";
const PARTITIONS: i32 = 4;

/// Windows with guests, and as many quiet ones.
const WINDOWS: usize = 6;

/// Windows in which a plugin is compiled that would never be done, and as many quiet ones.
const WINDOWS_OF_BOMBS: usize = 3;

/// The processor time after which such a compilation is ended: less than a host allows, since a window is as long.
const BOMB_CPU: Duration = Duration::from_secs(4);

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

/// Runs the corpus beside the neighbour, then bombs for the compiler. Says what came of it; true when the neighbour kept its throughput
/// (which is nobody's promise where it computes without a pause) and was never lost to its group, and everything ended as it should.
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
        let (guests, bombs) = (watch(&rows, &known), watch_bombs(&known));
        drop(end);
        let kept = [guests, bombs].map(|watched| judge(pace, &watched, &mut say));
        let troubles = known.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        troubles.iter().for_each(|words| say(&format!("NOT: {words}")));
        say(&format!("the neighbour had {} troubles with its group or its plugin", troubles.len()));
        kept == [true; 2] && troubles.is_empty()
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

/// What was seen beside one kind of trouble.
struct Watched {
    /// The trouble.
    what: &'static str,
    quiet: Seen,
    beside: Seen,
    count: usize,
    wrong: Vec<String>,
}

impl Watched {
    fn beside(what: &'static str) -> Self {
        Self { what, quiet: Seen::default(), beside: Seen::default(), count: 0, wrong: Vec::new() }
    }

    /// Watches the neighbour while the trouble lasts, and for as long again without it.
    fn window(&mut self, known: &Known, trouble: impl FnOnce(&mut Self)) {
        let mut window = Window::open(known);
        trouble(self);
        let length = window.began.elapsed();
        window.close(known, &mut self.beside);
        window = Window::open(known);
        std::thread::sleep(length);
        window.close(known, &mut self.quiet);
    }
}

/// Lets hostile windows and quiet ones of the same length take turns.
fn watch(rows: &[(&Row, Runner)], known: &Known) -> Watched {
    let mut watched = Watched::beside("guests");
    let mut mill = Mill::start();
    for share in rows.chunks(rows.len().div_ceil(WINDOWS)) {
        watched.window(known, |watched| {
            for (row, runner) in share {
                let end = runner.run(&mut mill);
                watched.count += 1;
                if !row.expects(&end.class) {
                    watched.wrong.push(format!("{} {}: {} {}", row.id, row.name(), end.class, end.says));
                }
            }
        });
    }
    watched
}

/// T-20: the same with bombs for the compiler, which works in a child, as it does for a host.
fn watch_bombs(known: &Known) -> Watched {
    let program = xtask::host::binary().unwrap_or_else(|error| panic!("{error:#}"));
    let limits = CompileLimits { cpu: BOMB_CPU, ..CompileLimits::STRICT };
    let compile = Compile::Worker { program, limits, cache: None };
    let engine = Engine::new(&EngineSettings { compile, ..EngineSettings::default() });
    let engine = engine.unwrap_or_else(|error| panic!("{error}"));
    let bomb = bombs::of_time(20_000);
    let mut watched = Watched::beside("compile bombs");
    for _ in 0..WINDOWS_OF_BOMBS {
        watched.window(known, |watched| {
            watched.count += 1;
            match Plugin::load(&engine, "bomb", &bomb, &PluginSettings::default()) {
                Err(error) if error.to_string().contains("compile limit") => {}
                Err(error) => watched.wrong.push(error.to_string()),
                Ok(_) => watched.wrong.push("a bomb was compiled".to_owned()),
            }
        });
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

fn judge(pace: Pace, watched: &Watched, say: &mut impl FnMut(&str)) -> bool {
    let Watched { what, quiet, beside, count, wrong } = watched;
    let (before, now) = (median(&quiet.rates), median(&beside.rates));
    say(&format!(
        "{pace:?}: {count} {what} beside a neighbour that commits {before:.0} records/s without them and {now:.0} with them, {:.0} %; \
         its hand-overs take p50 {:.1} ms, p99 {:.1} ms without and p50 {:.1} ms, p99 {:.1} ms with them; {} of the {what} wrong",
        100.0 * now / before,
        figure(&quiet.took_ms, 50),
        figure(&quiet.took_ms, 99),
        figure(&beside.took_ms, 50),
        figure(&beside.took_ms, 99),
        wrong.len(),
    ));
    wrong.iter().for_each(|words| say(&format!("NOT: {words}")));
    (pace == Pace::FlatOut || now >= KEPT_MIN * before) && wrong.is_empty()
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
