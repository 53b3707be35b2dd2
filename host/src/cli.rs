//! The command line: one file per command, what they share here.
//!
//! Commands say what happened through `Console` and an [`Exit`]; they never end the process.

mod call;
mod call_text;
mod check;
mod completions;
mod config_args;
mod console;
mod dead_letters;
mod decoding;
mod demo;
mod hosts;
mod inspect;
mod live;
mod live_line;
mod run;
mod schema;
mod status;
mod status_text;
mod wish;

use clap::{Args, Parser, Subcommand, ValueEnum};

use self::console::Console;
pub(crate) use self::live::{Snapshot, grouped};
pub(crate) use self::live_line::LiveLine;
use crate::control::Request;
use crate::exit::Exit;
use crate::stderr::LogWriter;
use crate::telemetry;

/// Hands batches of Kafka records to a sandboxed WebAssembly plugin; its answer decides commit, retry or stop.
#[derive(Debug, Parser)]
#[command(name = "gristmill", version, max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    logs: LogArgs,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "Exit codes: 0 done, 1 unexpected, 2 usage, 65 the plugin said fatal, 69 brokers unreachable at start, or no host answers, \
70 host bug, 71 fenced by another member, 75 retries or faults spent (call: retryable), 76 call: the plugin broke, \
77 not authorised, 78 configuration or plugin does not fit, 101 panic, 124 stopped before all was done that a stop waits for. \
The last line on stderr says why and what to do.";

/// What the help of `run` says beside its flags and the exit codes.
const RUN_HELP: &str =
    "On a terminal the last line is a live line that says what the host does; -q or TERM=dumb leaves it out.";

/// Heading of the flags about logs.
const LOGS: &str = "Logs (on stderr)";

/// What is logged, and how. Logs go to stderr.
#[derive(Debug, Args)]
struct LogArgs {
    /// Log more: -v debug, -vv trace
    #[arg(short, long, action = clap::ArgAction::Count, global = true, help_heading = LOGS)]
    verbose: u8,
    /// Log warnings and errors only
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = LOGS)]
    quiet: bool,
    /// "text" for people or "json" for machines, one object a line
    #[arg(long, value_enum, global = true, default_value_t = telemetry::LogFormat::Text, value_name = "FORMAT",
          help_heading = LOGS, hide_possible_values = true)]
    log_format: telemetry::LogFormat,
    /// What is logged, such as "debug" or "info,gristmill_kafka=trace"
    #[arg(long, global = true, env = "GRISTMILL_LOG", value_name = "LEVEL", help_heading = LOGS)]
    log_level: Option<String>,
}

impl LogArgs {
    /// The filter these flags mean; `usual` is the command's own level.
    fn filter(&self, usual: &str) -> String {
        match (&self.log_level, self.quiet, self.verbose) {
            (Some(level), _, _) => level.clone(),
            (None, true, _) => "warn".to_owned(),
            (None, false, 0) => usual.to_owned(),
            // The compiler below us traces every instruction; who wants that names it with --log-level.
            (None, false, 1) => "info,gristmill=debug".to_owned(),
            (None, false, _) => "info,gristmill=trace".to_owned(),
        }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a pipeline until it is stopped or cannot go on
    #[command(after_help = format!("{RUN_HELP}\n\n{AFTER_HELP}"))]
    Run(run::RunArgs),
    /// Say everything that is wrong with a configuration and its plugin, without running them
    #[command(visible_alias = "validate", after_help = AFTER_HELP)]
    Check(check::CheckArgs),
    /// Show what running hosts do, what they hold and why, and what releases it
    #[command(after_help = AFTER_HELP)]
    Status(status::StatusArgs),
    /// Let a running host hand nothing over until it is resumed
    #[command(after_help = AFTER_HELP)]
    Pause(wish::WishArgs),
    /// Let a paused host hand over again
    #[command(after_help = AFTER_HELP)]
    Resume(wish::WishArgs),
    /// Let a running host try again what it holds, and at once what waits
    #[command(after_help = AFTER_HELP)]
    Retry(wish::WishArgs),
    /// Let a running host write the batch it holds to the dead-letter topic, and go on behind it
    #[command(after_help = AFTER_HELP)]
    Skip(wish::SkipArgs),
    /// Let a running host finish its batch, commit it and leave
    #[command(after_help = AFTER_HELP)]
    Stop(wish::StopArgs),
    /// Look at dead letters, and replay them
    #[command(after_help = AFTER_HELP)]
    DeadLetters {
        #[command(subcommand)]
        command: dead_letters::DeadLettersCommand,
    },
    /// Say what a plugin's file is, what it exports and wants, and what the host would refuse
    Inspect(inspect::InspectArgs),
    /// Hand records from a file to a plugin, without Kafka
    #[command(after_help = AFTER_HELP)]
    Call(call::CallArgs),
    /// Show the main job on a Kafka cluster inside this process
    Demo(demo::DemoArgs),
    /// Print a schema
    Schema(schema::SchemaArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
}

/// Text for people or JSON for machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    Text,
    /// One JSON document, or one a line.
    Json,
}

#[derive(Debug, Args)]
struct OutputArgs {
    /// What is printed: "text" for people or "json" for machines
    #[arg(long, value_enum, default_value_t = Output::Text, value_name = "FORMAT", hide_possible_values = true)]
    output: Output,
}

/// Reads the arguments, runs the command, prints the last line, and returns the exit code. For the main thread of a process,
/// before any other is started: the compile worker is one of the commands, though no help tells of it.
#[must_use]
pub fn main() -> u8 {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|command| command == gristmill_guest::COMPILE_COMMAND) {
        return gristmill_guest::compile_worker(arguments);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { crate::exit::USAGE } else { crate::exit::CLEAN };
        }
    };
    let mut console = Console::new(cli.logs.log_format);
    let filter = cli.logs.filter(cli.command.usual_level());
    let exit = match telemetry::start(cli.logs.log_format, &filter, console.colors(), LogWriter) {
        Ok(()) => cli.command.run(cli.logs.quiet, &mut console),
        Err(error) => Exit::because(crate::exit::USAGE, error.to_string()),
    };
    let exit = console.judge(exit);
    console.last_line(&exit);
    exit.code()
}

impl Command {
    /// Quiet by default except where the logs are the point.
    fn usual_level(&self) -> &'static str {
        match self {
            Self::Run(_) => "info",
            Self::Demo(_) => {
                "warn,gristmill_guest=off,gristmill::demo=info,gristmill::act=debug,gristmill::narrate=debug"
            }
            Self::Call(_) => "warn,gristmill::plugin=info",
            Self::Check(_) | Self::Inspect(_) | Self::Schema(_) | Self::Completions(_) => "warn",
            Self::DeadLetters { command } => command.usual_level(),
            // What a configuration warns of is for whoever runs it.
            Self::Status(_) | Self::Pause(_) | Self::Resume(_) | Self::Retry(_) | Self::Skip(_) | Self::Stop(_) => {
                "error"
            }
        }
    }

    fn run(self, quiet: bool, console: &mut Console) -> Exit {
        match self {
            Self::Check(args) => check::run(args, console),
            Self::Inspect(args) => inspect::run(args, console),
            Self::Status(args) => status::run(args, console),
            Self::Pause(args) => wish::run(&Request::Pause {}, args, console),
            Self::Resume(args) => wish::run(&Request::Resume {}, args, console),
            Self::Retry(args) => wish::run(&Request::Retry {}, args, console),
            Self::Skip(args) => {
                let (request, args) = args.split();
                wish::run(&request, args, console)
            }
            Self::Stop(args) => {
                let (request, args) = args.split();
                wish::run(&request, args, console)
            }
            Self::Call(args) => call::run(args, console),
            Self::DeadLetters { command } => dead_letters::run(command, console),
            Self::Run(args) => run::run(args, quiet, console.format()),
            Self::Demo(args) => demo::run(args, console),
            Self::Schema(args) => schema::run(args, console),
            Self::Completions(args) => completions::run(args, console),
        }
    }
}
