//! `gristmill dead-letters`: shows what lies in a dead-letter topic, and replays it.
//!
//! Reads beside the pipeline's group: joins nothing and commits nothing. What is meant, and what is told of it, is decided in
//! `dead_letters`.

mod around;
mod calling;
mod json;
mod replay;
mod target;
mod text;
mod writing;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use gristmill_kafka::{RecordBody, TopicReader};

use crate::clock::now_ms;
use crate::config::{Config, Span};
use crate::dead_letters::{
    Choice, Class, Letter, OriginChoice, Position, Summary, When, check_name, original, position, shown,
};
use crate::exit::{self, Exit};

use super::config_args::ConfigArgs;
use super::console::Console;
use super::{Output, OutputArgs};

/// How long one look for records waits, so that a stop is heard between two.
const LOOK_WAIT: Duration = Duration::from_millis(100);

/// What to do with dead letters.
#[derive(Debug, Subcommand)]
pub(super) enum DeadLettersCommand {
    /// List dead letters, one a line, and count them by class
    #[command(after_help = super::AFTER_HELP)]
    List(LookArgs),
    /// Show all of a dead letter: its story, its key, its value, its headers
    #[command(after_help = super::AFTER_HELP)]
    Show(LookArgs),
    /// Replay dead letters: write them to a topic, print them, or hand them to the plugin
    #[command(after_help = super::AFTER_HELP)]
    Replay(replay::ReplayArgs),
}

impl DeadLettersCommand {
    /// What is logged unless somebody asks for more: what a configuration warns of is for whoever runs it.
    pub(super) fn usual_level(&self) -> &'static str {
        match self {
            Self::List(_) | Self::Show(_) => "error",
            Self::Replay(_) => "error,gristmill::plugin=info",
        }
    }
}

/// Heading of the flags that choose.
const CHOICE: &str = "Which dead letters (all of those that are given have to hold)";

/// Which topic, and which of its dead letters.
#[derive(Debug, Args)]
pub(super) struct ChoiceArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// The dead-letter topic. Default: dead_letter.topic of the configuration
    #[arg(long)]
    topic: Option<String>,
    /// How long to wait for the brokers. Default: start.wait
    #[arg(long, value_name = "TIME")]
    wait: Option<Span>,
    /// No more than so many, the first ones in the order of reading
    #[arg(long, value_name = "COUNT", help_heading = CHOICE)]
    limit: Option<u64>,
    /// Of this class, such as rejected, fault or fault/trap; once for each
    #[arg(long = "class", value_name = "CLASS", help_heading = CHOICE)]
    classes: Vec<Class>,
    /// Of a plugin whose digest begins so; once for each
    #[arg(long = "plugin", value_name = "DIGEST", value_parser = NonEmptyStringValueParser::new(), help_heading = CHOICE)]
    plugins: Vec<String>,
    /// With this text in the reason
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new(), help_heading = CHOICE)]
    reason: Option<String>,
    /// From this topic, or this partition of it; once for each
    #[arg(long = "origin", value_name = "TOPIC[:PARTITION]", help_heading = CHOICE)]
    origins: Vec<OriginChoice>,
    /// Failed at this time or later: 2026-01-31T12:00:00Z, or an age such as 2h
    #[arg(long, value_name = "TIME", help_heading = CHOICE)]
    since: Option<When>,
    /// Failed before this time, written the same
    #[arg(long, value_name = "TIME", help_heading = CHOICE)]
    until: Option<When>,
    /// The one at this position of the dead-letter topic; once for each
    #[arg(long, value_name = "PARTITION:OFFSET", help_heading = CHOICE)]
    at: Vec<Position>,
    /// Not before this position in its partition; other partitions from their beginning
    #[arg(long, value_name = "PARTITION:OFFSET", help_heading = CHOICE)]
    from: Vec<Position>,
}

/// The same, and how to show them.
#[derive(Debug, Args)]
pub(super) struct LookArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(command: DeadLettersCommand, console: &mut Console) -> Exit {
    let ended = match command {
        DeadLettersCommand::List(args) => list(args, console),
        DeadLettersCommand::Show(args) => show(args, console),
        DeadLettersCommand::Replay(args) => replay::replay(args, console),
    };
    match ended {
        Ok(exit) | Err(exit) => exit,
    }
}

fn list(args: LookArgs, console: &mut Console) -> Result<Exit, Exit> {
    let output = args.output.output;
    let mut session = args.choice.open(console)?;
    let mut table = text::Table::new(Console::columns());
    let mut is_first = true;
    while let Some(found) = session.next_meant()? {
        match output {
            Output::Json => console.say_json(&json::story(&found.letter)),
            Output::Text => {
                let row = table.row(&found.letter);
                if std::mem::take(&mut is_first) {
                    console.say(table.heading());
                }
                console.say(row);
            }
        }
        if console.is_unheard() {
            return Ok(Exit::clean());
        }
    }
    match output {
        Output::Json => console.say_json(&json::summary(&session.summary)),
        Output::Text => console.say(session.words()),
    }
    session.missing().map_or(Ok(Exit::clean()), Err)
}

fn show(args: LookArgs, console: &mut Console) -> Result<Exit, Exit> {
    let output = args.output.output;
    let mut session = args.choice.open(console)?;
    while let Some(Found { letter, record }) = session.next_meant()? {
        let original = original(&record, &letter.told);
        match output {
            Output::Json => console.say_json(&json::whole(&letter, &original)),
            Output::Text => text::whole(&letter, &original).into_iter().for_each(|line| console.say(line)),
        }
        if console.is_unheard() {
            return Ok(Exit::clean());
        }
    }
    if let Some(exit) = session.missing() {
        return Err(exit);
    }
    match session.summary.meant() {
        0 => Err(Exit::because(exit::UNEXPECTED, format!("{} in {}", session.words(), session.topic))),
        _ => Ok(Exit::clean()),
    }
}

/// A dead letter that is meant, with its record.
struct Found {
    letter: Letter,
    record: RecordBody,
}

/// What one look found.
enum Looked {
    /// A dead letter that is meant.
    Meant(Box<Found>),
    /// A record that is not.
    Passed(Position),
    /// Nothing to say yet.
    Nothing,
    /// There is no more.
    End,
}

/// One reading of a dead-letter topic.
struct Session {
    topic: String,
    choice: Choice,
    /// The flags that were written as an age, as dates: a command that is said again later means other ones by an age.
    aged: Vec<String>,
    limit: u64,
    reader: TopicReader,
    /// Read, and not looked at yet; the next one last.
    waiting: Vec<RecordBody>,
    /// What was counted so far.
    summary: Summary,
    /// Positions that were asked for and did not come yet.
    wanted: BTreeSet<Position>,
}

impl ChoiceArgs {
    /// True where nothing chooses among the dead letters.
    fn is_all(&self) -> bool {
        self.choice().is_all()
    }

    fn choice(&self) -> Choice {
        let now_ms = now_ms();
        let moment = |when: Option<When>| when.map(|when| when.millis(now_ms));
        Choice {
            classes: self.classes.clone(),
            plugins: self.plugins.clone(),
            reason: self.reason.clone(),
            origins: self.origins.clone(),
            since_ms: moment(self.since),
            until_ms: moment(self.until),
            at: self.at.iter().copied().collect(),
            from: self.from.iter().map(|from| (from.partition, from.offset)).collect(),
        }
    }

    /// Reads the configuration and begins to read the topic.
    fn open(mut self, console: &mut Console) -> Result<Session, Exit> {
        let (config, topic) = self.load(console)?;
        self.begin(config, topic)
    }

    /// Reads the configuration, and says which topic is meant.
    fn load(&mut self, console: &mut Console) -> Result<(Config, String), Exit> {
        let config = std::mem::take(&mut self.config).load(console)?.config;
        let of_config = || config.writing.dead_letter.as_ref().map(|letters| letters.topic.clone());
        let Some(topic) = self.topic.clone().or_else(of_config) else {
            return Err(Exit::because(
                exit::MISFIT,
                "the configuration has no [dead_letter], so it names no topic to look into; name one with --topic",
            ));
        };
        match check_name(&topic) {
            Ok(()) => Ok((config, topic)),
            Err(fault) => Err(Exit::because(exit::USAGE, format!("--topic {topic:?}: {fault}"))),
        }
    }

    /// How long brokers are waited for.
    fn wait(&self, config: &Config) -> Duration {
        self.wait.map_or(config.start.wait, |wait| wait.0)
    }

    /// Begins to read.
    fn begin(self, config: Config, topic: String) -> Result<Session, Exit> {
        let choice = self.choice();
        let wait = self.wait(&config);
        let settings = config.consumer_settings(Instant::now());
        let reader = TopicReader::open(&settings, &topic, wait, |partition| choice.window(partition));
        let reader = reader.map_err(|error| Exit::from(&error))?;
        let to_come = choice.at.iter().filter(|at| choice.window(at.partition).contains(&at.offset));
        let wanted = to_come.copied().collect();
        let aged = [("--since", self.since, choice.since_ms), ("--until", self.until, choice.until_ms)];
        let aged = aged.into_iter().filter(|(_, when, _)| matches!(when, Some(When::Ago(_))));
        let aged = aged.filter_map(|(flag, _, ms)| Some(format!("{flag} {}", shown(ms?)))).collect();
        let (waiting, summary, limit) = (Vec::new(), Summary::default(), self.limit.unwrap_or(u64::MAX));
        Ok(Session { topic, choice, aged, limit, reader, waiting, summary, wanted })
    }
}

impl Session {
    /// The next dead letter that is meant; `None` at the end, or where there were as many as were asked for.
    fn next_meant(&mut self) -> Result<Option<Found>, Exit> {
        loop {
            match self.look()? {
                Looked::Meant(found) => return Ok(Some(*found)),
                Looked::Passed(_) | Looked::Nothing => {}
                Looked::End => return Ok(None),
            }
        }
    }

    /// Looks at one record, or waits a moment for more.
    fn look(&mut self) -> Result<Looked, Exit> {
        if self.summary.meant() >= self.limit {
            return Ok(Looked::End);
        }
        let Some(record) = self.waiting.pop() else {
            let records = self.reader.next(LOOK_WAIT).map_err(|error| Exit::from(&error))?;
            let Some(mut records) = records else { return Ok(Looked::End) };
            records.reverse();
            self.waiting = records;
            return Ok(Looked::Nothing);
        };
        let at = position(&record);
        let Some(letter) = self.summary.count(Letter::of(&record), &self.choice) else { return Ok(Looked::Passed(at)) };
        self.wanted.remove(&at);
        Ok(Looked::Meant(Box::new(Found { letter, record })))
    }

    /// What of the command is to be written otherwise where it is said again to go on.
    fn instead(&self) -> String {
        let aged = self.aged.iter().map(|flag| format!(", with {flag} instead of the age"));
        let limit = (self.limit < u64::MAX).then(|| ", and a --limit that counts from there".to_owned());
        aged.chain(limit).collect()
    }

    /// What was counted, for people.
    fn words(&self) -> String {
        let mut words = self.summary.words();
        if self.summary.meant() >= self.limit {
            words += "; read no further, because of --limit";
        }
        words
    }

    /// Why the command does not end well where positions were asked for at which no dead letter lies.
    fn missing(&self) -> Option<Exit> {
        if self.wanted.is_empty() || self.summary.meant() >= self.limit {
            return None;
        }
        let wanted: Vec<String> = self.wanted.iter().map(ToString::to_string).collect();
        let why = format!(
            "at {} of {} lies no dead letter that matches; look with gristmill dead-letters list",
            wanted.join(", "),
            self.topic
        );
        Some(Exit::because(exit::UNEXPECTED, why))
    }
}
