//! What this program is asked for.
//!
//! It must not know what a scenario does.

use crate::scenario::{ALL, Scenario};

/// What to measure.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) rounds: usize,
    /// Instead of what each scenario has.
    pub(crate) records: Option<u64>,
}

/// Measured where nothing else is said.
const SHORT: [&str; 1] = ["base"];

/// Named only, never part of a whole run: too short to tell anything but that all of them read and commit.
const NAMED_ONLY: [&str; 1] = ["smoke"];

const ROUNDS: usize = 5;

impl Wanted {
    /// Reads `[RECORDS] [--full] [--only NAME[,NAME…]] [--rounds N]`.
    pub(crate) fn of(words: &[String]) -> Result<Self, String> {
        let by_name = |names: &[&str]| ALL.into_iter().filter(|it| names.contains(&it.name)).collect::<Vec<_>>();
        let mut wanted = Self { scenarios: by_name(&SHORT), rounds: ROUNDS, records: None };
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "--full" => {
                    wanted.scenarios = ALL.into_iter().filter(|it| !NAMED_ONLY.contains(&it.name)).collect();
                }
                "--only" => {
                    let names: Vec<&str> = words.next().unwrap_or_default().split(',').collect();
                    wanted.scenarios = by_name(&names);
                    if wanted.scenarios.len() != names.len() {
                        return Err(format!("--only takes {}", ALL.map(|it| it.name).join(", ")));
                    }
                }
                "--rounds" => wanted.rounds = words.next().and_then(number).ok_or("--rounds takes a number")?,
                records => {
                    let usage = "[RECORDS] [--full] [--only NAME[,NAME…]] [--rounds N]";
                    wanted.records = Some(number(records).ok_or_else(|| format!("{records} is none of {usage}"))?);
                }
            }
        }
        Ok(wanted)
    }
}

/// A number that is not zero.
fn number<T: std::str::FromStr + PartialEq + Default>(word: &str) -> Option<T> {
    word.parse().ok().filter(|number| *number != T::default())
}
