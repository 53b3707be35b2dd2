//! Named schedules: short stories, each a rule that a well-known system got wrong or a scenario from the field.

mod alone;
mod assembly;
mod commits;
mod due;
mod ends;
mod faults;
mod found;
mod ladder;
mod letters;
mod meanwhile;
mod operators;
mod parts;
mod pipelining;
mod rebalances;
mod retries;
mod rewinds;
mod story;
mod words;

pub(crate) use words::{lanes, policy};
