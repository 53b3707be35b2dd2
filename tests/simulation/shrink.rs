//! Makes a failing scenario smaller while it still breaks the same promise: fewer faults, members, partitions, records.

use crate::scenario::Scenario;
use crate::seeds::run;
use crate::trace::Trace;

/// The smallest scenario found that breaks `rule`.
pub(crate) fn shrink(scenario: &Scenario, rule: &str) -> Scenario {
    let breaks = |scenario: &Scenario| run(scenario, None, Trace::default()).0.is_err_and(|broken| broken.rule == rule);
    let mut best = scenario.clone();
    loop {
        let smaller = candidates(&best).into_iter().find(|candidate| breaks(candidate));
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// Each a little smaller than the scenario.
fn candidates(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    for fault in &scenario.faults {
        let mut less = scenario.clone();
        less.faults.remove(fault);
        all.push(less);
    }
    if scenario.members > 1 {
        all.push(Scenario { members: scenario.members - 1, ..scenario.clone() });
    }
    if scenario.partitions > 1 {
        all.push(Scenario { partitions: scenario.partitions / 2, ..scenario.clone() });
        all.push(Scenario { partitions: scenario.partitions - 1, ..scenario.clone() });
    }
    if scenario.records > 1 {
        all.push(Scenario { records: scenario.records / 2, ..scenario.clone() });
        all.push(Scenario { records: scenario.records - 1, ..scenario.clone() });
    }
    if scenario.slow > 0 {
        all.push(Scenario { slow: 0, ..scenario.clone() });
    }
    if scenario.faults_end > 1_000_000 {
        all.push(Scenario { faults_end: scenario.faults_end / 2, ..scenario.clone() });
    }
    all
}
