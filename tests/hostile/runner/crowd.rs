//! Thirty-two guests at once, all on one core: first those that would never end, then each of the others once.
//!
//! Must not know how the core was chosen: whoever starts this process does.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use gristmill_guest::Limits;

use crate::corpus::{Corpus, Row};
use crate::memory::milliseconds;
use crate::mill::{self, End, Mill};
use crate::row::Runner;
use crate::table::percentile;

/// How many at once.
const CROWD: usize = 32;

/// The wall clock of a guest that runs into it. With thirty-one others on its core it never gets to its processor time.
const TIME: Duration = Duration::from_secs(3);

/// The time of a guest that ends by itself, on a thirty-second of a core.
const PATIENCE: Duration = Duration::from_secs(50);

/// How much later than its limit a guest may end where the machine does other things as well.
const LATE_MAX_MS: f64 = 1_500.0;

/// The same for 99 of 100 on a quiet machine, which the long form holds. The aim is 100 ms; it is missed by a guest whose fill of 60 MiB
/// nobody can interrupt: on a thirty-second of a core that takes three of its turns.
const LATE_P99_MS: f64 = 150.0;

/// Runs the whole corpus in crowds. Says what is not as it should be, then the sum; true when all of it is, on a quiet machine where that
/// is asked for.
pub(crate) fn run(corpus: &Corpus, quiet: bool, mut say: impl FnMut(&str)) -> bool {
    let engine = mill::engine();
    let ordinary = mill::ordinary(&engine);
    let (endless, ending): (Vec<&Row>, Vec<&Row>) = corpus.row.iter().partition(|row| row.until.is_some());
    let mut crowds = vec![endless.iter().copied().cycle().take(CROWD).collect::<Vec<_>>()];
    crowds.extend(ending.chunks(CROWD).map(<[&Row]>::to_vec));
    let (mut late, mut wrong, mut guests) = (Vec::new(), 0, 0);
    for crowd in crowds {
        guests += crowd.len();
        let begin = Arc::new(Barrier::new(crowd.len()));
        let ends: Vec<(End, bool)> = std::thread::scope(|scope| {
            let running: Vec<_> = crowd
                .iter()
                .map(|row| {
                    let runner = Runner::load(&engine, row, limits(row));
                    let (begin, ordinary) = (Arc::clone(&begin), ordinary.clone());
                    scope.spawn(move || {
                        let mut mill = Mill::start();
                        begin.wait();
                        (runner.run(&mut mill), mill.still_works(&ordinary))
                    })
                })
                .collect();
            running
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| panic!("a guest was not ended")))
                .collect()
        });
        for (row, (end, works)) in crowd.iter().zip(ends) {
            // Until a thread among so many gets its turn it may take a while; a guest's time begins then.
            let late_ms = milliseconds(end.ran) - milliseconds(limits(row).time);
            if row.until.is_some() && end.class != "start" {
                late.push(late_ms);
            }
            if !row.expects(&end.class) || !works || late_ms > LATE_MAX_MS {
                wrong += 1;
                say(&format!(
                    "NOT: {} {}: expected {}, got {} after {:?}; the next batch works: {works}; {}",
                    row.id,
                    row.name(),
                    row.expect,
                    end.class,
                    end.took,
                    end.says
                ));
            }
        }
    }
    late.sort_by(f64::total_cmp);
    say(&format!(
        "{guests} guests, {CROWD} at once on one core: {wrong} not as they should be; {} ends by a limit of time, later than it by \
         p50 {:.1} ms, p99 {:.1} ms, {:.1} ms at most (to reach on a quiet machine: p99 100 ms)",
        late.len(),
        percentile(&late, 50),
        percentile(&late, 99),
        percentile(&late, 100),
    ));
    wrong == 0 && !(quiet && percentile(&late, 99) > LATE_P99_MS)
}

fn limits(row: &Row) -> Limits {
    let time = if row.until.is_some() { TIME } else { PATIENCE };
    Limits { time, cpu: time, ..Limits::STRICT }
}
