//! `gristmill dead-letters replay`: writes dead letters to a topic again, prints them, or hands them to the plugin.
//!
//! A dead-letter topic is not consumed: who replays twice replays again. What was not replayed is named, and the rest is.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use gristmill_kafka::Outgoing;
use serde::Serialize;

use crate::config::Config;
use crate::dead_letters::{Letter, Progress, at_origin};
use crate::exit::{self, Exit};
use crate::records::{FileHeader, FileRecord};

use super::super::console::Console;
use super::super::{Output, OutputArgs};
use super::around::{Around, Stop, refuse, stopped};
use super::calling::Calling;
use super::target::{Origins, Target};
use super::writing::Writing;
use super::{ChoiceArgs, Found, Looked, Session, json};

/// Which dead letters, and where to.
#[derive(Debug, Args)]
pub(in crate::cli) struct ReplayArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Where to: "origin", the topic that each came from, if the pipeline reads it or --origin names it; any other topic; "stdout",
    /// as JSON Lines that `gristmill call` reads; or "plugin", the plugin of the configuration, where nothing is written or committed
    #[arg(long, value_name = "TARGET")]
    to: Target,
    /// Replay everything, where nothing else chooses
    #[arg(long)]
    all: bool,
    /// Say what would be replayed, and do not do it
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// How what is meant goes to its target.
enum Way {
    /// Not at all.
    Tell,
    /// To a topic.
    Write(Box<Writing>),
    /// To stdout.
    Print,
    /// To the plugin.
    Call(Box<Calling>),
}

pub(super) fn replay(args: ReplayArgs, console: &mut Console) -> Result<Exit, Exit> {
    let ReplayArgs { mut choice, to, all, dry_run, output: OutputArgs { output } } = args;
    if choice.is_all() && !all {
        let why = "this would replay every dead letter of the topic; choose among them, or write --all (--dry-run says which)";
        return Err(Exit::because(exit::USAGE, why));
    }
    let (config, topic) = choice.load(console)?;
    let origins = Origins::new(&config.kafka.topics, &choice.origins, letter_topics(&config, &topic));
    if let Target::Topic(to) = &to
        && origins.is_of_letters(to)
    {
        return Err(Exit::because(exit::USAGE, format!("--to {to}: dead letters go there; name another topic")));
    }
    let way = match &to {
        _ if dry_run => Way::Tell,
        Target::Origin | Target::Topic(_) => Way::Write(Box::new(Writing::new(&config, choice.wait(&config))?)),
        Target::Stdout => Way::Print,
        Target::Plugin => Way::Call(Box::new(Calling::new(&config, choice.wait(&config), output)?)),
    };
    let session = choice.begin(config, topic)?;
    // Until here a signal ends the process as ever: nothing was replayed.
    let stop = Stop::listen()?;
    let mut replay = Replay { session, to, origins, way, output, progress: Progress::default(), stop };
    let ended = replay.run(console);
    let ended = replay.settle(ended, console);
    replay.report(ended, console)
}

/// Where dead letters go: nothing is replayed to there.
fn letter_topics(config: &Config, read: &str) -> BTreeSet<String> {
    let of_config = config.writing.dead_letter.iter().map(|letters| letters.topic.clone());
    of_config.chain([read.to_owned()]).collect()
}

/// One replay.
struct Replay {
    session: Session,
    to: Target,
    origins: Origins,
    way: Way,
    output: Output,
    progress: Progress,
    stop: Stop,
}

impl Replay {
    /// Goes through what is meant.
    fn run(&mut self, console: &mut Console) -> Result<(), Exit> {
        loop {
            if self.stop.is_asked() {
                return Err(stopped());
            }
            if console.is_unheard() {
                return Ok(());
            }
            match self.session.look()? {
                Looked::Meant(found) => self.take(*found, console)?,
                Looked::Passed(at) => self.progress.passed(at),
                Looked::Nothing => {}
                Looked::End => return Ok(()),
            }
        }
    }

    fn take(&mut self, Found { letter, record }: Found, console: &mut Console) -> Result<(), Exit> {
        let at = letter.at;
        self.progress.taken(at);
        let outgoing = match self.to.outgoing(&record, &self.origins) {
            Ok(outgoing) => outgoing,
            Err(unfit) => {
                refuse(at, &unfit.to_string(), &mut self.progress, console);
                return Ok(());
            }
        };
        let mut around = Around { progress: &mut self.progress, console, stop: &self.stop };
        match &mut self.way {
            Way::Tell => {
                let to = if self.to == Target::Origin { &*outgoing.topic } else { &self.to.to_string() };
                match self.output {
                    Output::Json => around.console.say_json(&DryLine { would_replay: at.to_string(), to }),
                    Output::Text => around.console.say(format_args!("{at} would be replayed to {to}")),
                }
                around.progress.acknowledged(at);
            }
            Way::Print => {
                around.console.say(file_record(&letter, &outgoing).to_line());
                if !around.console.is_unheard() {
                    around.progress.acknowledged(at);
                }
            }
            Way::Write(writing) => {
                let origin = letter.told.origin.as_ref().filter(|_| self.to == Target::Origin);
                writing.send(at, outgoing, origin.map(|origin| origin.place.partition), &mut around)?;
            }
            Way::Call(calling) => calling.take(at, file_record(&letter, &outgoing), &mut around)?,
        }
        Ok(())
    }

    /// Waits for what is under way; how the replay ended is the first cause.
    fn settle(&mut self, ended: Result<(), Exit>, console: &mut Console) -> Result<(), Exit> {
        let mut around = Around { progress: &mut self.progress, console, stop: &self.stop };
        let settled = match &mut self.way {
            Way::Write(writing) => writing.settle(&mut around),
            Way::Call(calling) if ended.is_ok() && !around.console.is_unheard() => calling.hand_over(&mut around),
            Way::Call(_) | Way::Tell | Way::Print => Ok(()),
        };
        ended.and(settled)
    }

    /// Says what was replayed, what was not, and where to go on.
    fn report(&self, ended: Result<(), Exit>, console: &mut Console) -> Result<Exit, Exit> {
        let Progress { replayed, refused, .. } = self.progress;
        // What is said below is not what somebody did not want to hear.
        let is_unheard = console.is_unheard();
        let words = format!("{}; {}", self.words(), self.session.words());
        match self.output {
            Output::Json if self.to != Target::Stdout => console.say_json(&self.line()),
            // Stdout holds records and nothing else.
            Output::Text if self.to != Target::Stdout => console.say(words),
            Output::Json | Output::Text => console.complain("info", words),
        }
        let flags = self.progress.flags();
        if ended.is_ok() && is_unheard {
            console.complain("info", self.unheard(&flags));
        }
        match ended {
            Ok(()) if refused > 0 => Err(Exit::because(
                exit::UNEXPECTED,
                format!("{refused} of {} were not replayed, for the reasons in the lines above", replayed + refused),
            )),
            Ok(()) if is_unheard => Ok(Exit::clean()),
            Ok(()) => self.session.missing().map_or(Ok(Exit::clean()), Err),
            Err(exit) => {
                let why = exit.why().unwrap_or_default();
                if flags.is_empty() {
                    return Err(exit);
                }
                console.complain(
                    "info",
                    format_args!("to go on: the same command with {flags}{}", self.session.instead()),
                );
                let unknown = match self.unknown() {
                    0 => String::new(),
                    count => format!(", {count} more perhaps"),
                };
                Err(Exit::because(
                    exit.code(),
                    format!("{why}; {replayed} were replayed{unknown}; go on as the line above says"),
                ))
            }
        }
    }

    /// What is to be known where nobody read to the end: what lay in a pipe was perhaps not read.
    fn unheard(&self, flags: &str) -> String {
        let count = self.progress.replayed;
        let printed = match &self.way {
            Way::Print => format!("at most the first {count} were read, the last of them perhaps not"),
            Way::Call(_) | Way::Tell | Way::Write(_) => "what lies behind that was left alone".to_owned(),
        };
        let go_on = if flags.is_empty() {
            String::new()
        } else {
            format!("; to go on behind them: the same command with {flags}{}", self.session.instead())
        };
        format!("nobody reads stdout any more; {printed}{go_on}")
    }

    /// What became of them, for people.
    fn words(&self) -> String {
        let count = self.progress.replayed;
        let topics = match &self.way {
            Way::Write(writing) if self.to == Target::Origin && count > 0 => {
                let topics: Vec<String> =
                    writing.topics.iter().map(|(topic, count)| format!("{count} to {topic}")).collect();
                format!(" ({})", topics.join(", "))
            }
            Way::Write(_) | Way::Call(_) | Way::Tell | Way::Print => String::new(),
        };
        let verb = match &self.way {
            Way::Tell => "would replay",
            Way::Call(_) => "handed",
            Way::Write(_) | Way::Print => "replayed",
        };
        format!("{verb} {count} to {}{topics}", self.to)
    }

    /// How many were sent of which nobody knows whether they were written.
    fn unknown(&self) -> usize {
        match &self.way {
            Way::Write(writing) => writing.unknown(),
            Way::Call(_) | Way::Tell | Way::Print => 0,
        }
    }

    fn line(&self) -> Line<'_> {
        let topics = match &self.way {
            Way::Write(writing) => Some(writing.topics.iter().map(|(topic, count)| (&**topic, *count)).collect()),
            Way::Call(_) | Way::Tell | Way::Print => None,
        };
        Line {
            replayed: self.progress.replayed,
            refused: self.progress.refused,
            unknown: self.unknown(),
            dry_run: matches!(self.way, Way::Tell),
            topics,
            next: self.progress.next().iter().map(ToString::to_string).collect(),
            counts: json::summary(&self.session.summary),
        }
    }
}

/// What would be replayed, for machines.
#[derive(Serialize)]
struct DryLine<'t> {
    would_replay: String,
    to: &'t str,
}

/// What became of them, for machines.
#[derive(Serialize)]
struct Line<'l> {
    replayed: u64,
    refused: u64,
    unknown: usize,
    dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    topics: Option<BTreeMap<&'l str, u64>>,
    next: Vec<String>,
    #[serde(flatten)]
    counts: json::SummaryLine<'l>,
}

/// A record as the plugin would see it after a replay: at its origin, with the headers that tell its story.
fn file_record(letter: &Letter, outgoing: &Outgoing) -> FileRecord {
    let bytes = |bytes: &[u8]| bytes.to_vec();
    let headers = outgoing.headers().map(|(name, value)| FileHeader { name: name.to_vec(), value: value.map(bytes) });
    at_origin(&letter.told, outgoing.key().map(bytes), outgoing.value().map(bytes), headers.collect())
}
