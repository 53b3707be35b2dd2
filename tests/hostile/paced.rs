//! A storm of traps as the product paces it: the real host on a mock cluster, with a plugin that breaks on the one record there is. The
//! wait between attempts is held at its first length; by default it doubles, and the storm dies down.

use std::time::Duration;

use gristmill_kafka::{MockCluster, MockRecord};
use gristmill_tests::{Host, plugin};

use crate::cost::Meter;

/// How long the host may take to get going on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

/// How long the storm is watched.
const WATCHED: Duration = Duration::from_secs(15);

/// T-18: every attempt is a trap, and there is no end of attempts; between them the host waits.
#[test]
fn a_storm_of_traps_leaves_the_host_most_of_its_core() {
    let _turn = crate::turn();
    let cluster = MockCluster::start(1).unwrap_or_else(|error| panic!("{error}"));
    cluster.create_topic("orders", 1).unwrap_or_else(|error| panic!("{error}"));
    let record = MockRecord { key: Some(b"panic:again"), ..MockRecord::default() };
    cluster.produce("orders", record).and_then(|()| cluster.flush()).unwrap_or_else(|error| panic!("{error}"));
    let host = Host::run(&format!(
        "[kafka]\nbootstrap_servers = {:?}\ngroup_id = \"storm\"\ntopics = [\"orders\"]\nauto_offset_reset = \"earliest\"\n\
         [batch]\nmax_wait = \"10ms\"\n[fault]\nmax_attempts = 1000000\n[retry]\nmax = \"200ms\"\n[plugin]\npath = {:?}\n",
        cluster.bootstrap_servers(),
        plugin("gristmill-mischief").display().to_string(),
    ));
    let broke = |lines: &[String]| lines.iter().filter(|line| line.contains("guest broke")).count();
    host.wait_until("the first trap", START_MAX, |lines| (broke(lines) > 0).then_some(()));
    let meter = Meter::of(host.process_id());
    let traps_before = host.wait_until("lines", START_MAX, |lines| Some(broke(lines)));
    while meter.begun().elapsed() < WATCHED {
        std::thread::park_timeout(WATCHED.saturating_sub(meter.begun().elapsed()));
    }
    let cost = meter.read();
    let traps = host.wait_until("lines", START_MAX, |lines| Some(broke(lines))) - traps_before;
    let share = cost.processor.as_secs_f64() / cost.wall.as_secs_f64();
    println!(
        "{traps} traps in {:?} took {:?} of processor time, {:.1} % of a core",
        cost.wall,
        cost.processor,
        share * 100.0
    );
    assert!(traps >= 20, "there was no storm: {traps} traps; {}", host.lines().all().join("\n"));
    assert!(share <= 0.2, "{share:.2} of a core");
}
