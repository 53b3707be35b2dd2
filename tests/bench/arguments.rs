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
const SHORT: &str = "base";

/// Named only, never part of a whole run: too short to tell anything but that all of them read and commit.
const NAMED_ONLY: &str = "smoke";

const ROUNDS: usize = 5;

impl Wanted {
    /// Reads `[RECORDS] [--full] [--only NAME[,NAME…]] [--rounds N]`.
    pub(crate) fn of(words: &[String]) -> Result<Self, String> {
        let by_name = |name: &str| ALL.into_iter().find(|it| it.name == name);
        let mut wanted = Self { scenarios: by_name(SHORT).into_iter().collect(), rounds: ROUNDS, records: None };
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "--full" => {
                    wanted.scenarios = ALL.into_iter().filter(|it| it.name != NAMED_ONLY).collect();
                }
                "--only" => {
                    let names: Vec<&str> = words.next().unwrap_or_default().split(',').collect();
                    let known = names.iter().map(|name| by_name(name)).collect::<Option<_>>();
                    wanted.scenarios =
                        known.ok_or_else(|| format!("--only takes {}", ALL.map(|it| it.name).join(", ")))?;
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
