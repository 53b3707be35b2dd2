//! `gristmill pause`, `resume`, `retry`, `skip` and `stop`: what an operator wishes of one running host.
//!
//! Each says what it did and which state follows. What it means is the host's business.

use clap::Args;

use crate::control::client::AskError;
use crate::control::{Done, HeldStatus, RefusalCode, Request};
use crate::counted::counted;
use crate::excerpt::short_reason;
use crate::exit::{self, Exit};

use super::console::{Console, escape};
use super::hosts::{self, FoundHost, HostArgs};
use super::status::runtime;
use super::{Output, OutputArgs};

/// Which host, and how to say what became of it.
#[derive(Debug, Args)]
pub(super) struct WishArgs {
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The same, and whether to wait for the running batch.
#[derive(Debug, Args)]
pub(super) struct StopArgs {
    /// Leave at once: a running batch is cut off, is not committed and comes again
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    wish: WishArgs,
}

/// The same, and why.
#[derive(Debug, Args)]
pub(super) struct SkipArgs {
    /// Why: it stands in each of the dead letters
    #[arg(long, value_name = "WHY")]
    reason: String,
    /// Only what is held at these positions, such as "orders/0 120..149" of gristmill status. Left out: whatever is held
    #[arg(long, value_name = "POSITIONS")]
    at: Option<String>,
    #[command(flatten)]
    wish: WishArgs,
}

impl SkipArgs {
    /// What to ask of which host.
    pub(super) fn split(self) -> (Request, WishArgs) {
        (Request::Skip { reason: self.reason, at: self.at }, self.wish)
    }
}

impl StopArgs {
    /// What to ask of which host.
    pub(super) fn split(self) -> (Request, WishArgs) {
        (Request::Stop { now: self.now }, self.wish)
    }
}

pub(super) fn run(request: &Request, args: WishArgs, console: &mut Console) -> Exit {
    match wish(request, args, console) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn wish(request: &Request, args: WishArgs, console: &mut Console) -> Result<Exit, Exit> {
    let output = args.output.output;
    let (name, done) = runtime()?.block_on(async {
        let hosts = hosts::find(args.host, console).await?;
        let mut host = only(hosts)?;
        // On the connection that was asked for its status: no other host can have come in between.
        let done = host.connection.ask(request).await.map_err(|error| refused(&host, &error))?;
        Ok::<_, Exit>((host.name(), done))
    })?;
    match output {
        Output::Json => console.say_json(&done),
        Output::Text => {
            console.say(format_args!("{name}: {}", escape(&words(request, &done))));
            done.released.iter().for_each(|released| console.say(format_args!("  {}", escape(released))));
        }
    }
    Ok(Exit::clean())
}

/// The only one: a wish must not reach a host that was not meant.
fn only(hosts: Vec<FoundHost>) -> Result<FoundHost, Exit> {
    let sockets = hosts.iter().map(|host| format!("{} at {}", host.name(), host.connection.path.display()));
    let sockets = sockets.collect::<Vec<_>>().join(", ");
    let count = hosts.len();
    match <[FoundHost; 1]>::try_from(hosts) {
        Ok([host]) => Ok(host),
        Err(_) => Err(Exit::because(exit::USAGE, format!("{count} hosts answer; name one with --socket: {sockets}"))),
    }
}

fn refused(host: &FoundHost, error: &AskError) -> Exit {
    let (code, advice) = match error {
        AskError::Refused(refusal) => (exit::UNEXPECTED, advice(refusal.code)),
        AskError::Nobody | AskError::Silent(_) => (exit::UNREACHABLE, "look at its log"),
        AskError::Stranger(_) | AskError::System(_) | AskError::Unreadable(_) => (exit::UNEXPECTED, "look at its log"),
    };
    Exit::because(code, format!("{}: {error}; {advice}", host.name()))
}

/// The way out after a refusal.
fn advice(code: RefusalCode) -> &'static str {
    match code {
        RefusalCode::Starting | RefusalCode::Busy | RefusalCode::TooManyClients | RefusalCode::TooSlow => "try again",
        RefusalCode::Ending => "start it again with gristmill run",
        RefusalCode::NoDeadLetterTopic => "configure [dead_letter] and start it again",
        RefusalCode::NotHeld => "look at gristmill status",
        RefusalCode::SeveralHeld => "name one with --at, as gristmill status shows it",
        RefusalCode::NoReason => "write --reason \"…\"",
        RefusalCode::NotAllowed => "ask as the user that the host runs as",
        RefusalCode::OtherVersion | RefusalCode::UnknownRequest => "use the gristmill that the host was started with",
        RefusalCode::TooLong => "write a shorter --reason",
        RefusalCode::NotJson | RefusalCode::HalfLine | RefusalCode::Other => "look at its log",
    }
}

/// What was done, and which state follows.
fn words(request: &Request, done: &Done) -> String {
    let status = &done.status;
    let what = match (request, done.changed) {
        (Request::Status {}, _) => "asked".to_owned(),
        (Request::Pause {}, true) => "paused; nothing is handed over until gristmill resume".to_owned(),
        (Request::Pause {}, false) => "was paused already".to_owned(),
        (Request::Resume {}, true) => "resumed; hand-overs go on".to_owned(),
        (Request::Resume {}, false) => "was not paused".to_owned(),
        (Request::Retry {}, true) => format!("released {}", counted(done.released.len() as u64, "thing")),
        (Request::Retry {}, false) => match &status.held[..] {
            [] => "nothing was held, and no batch waited".to_owned(),
            [held, others @ ..] => format!("what was held is held again: {}", held_again(held, others.len())),
        },
        (Request::Skip { .. }, true) => format!("skips {}", counted(done.released.len() as u64, "thing")),
        (Request::Skip { .. }, false) => "nothing was held that can be skipped".to_owned(),
        (Request::Stop { now: true }, _) => "asked to leave at once".to_owned(),
        (Request::Stop { now: false }, true) => "asked to stop".to_owned(),
        (Request::Stop { now: false }, false) => "was asked to stop already".to_owned(),
    };
    format!("{what}; {}", follows(request, done))
}

/// What is held and where, and how many other things are.
fn held_again(held: &HeldStatus, others: usize) -> String {
    let place = match (&held.topic, held.partition) {
        (Some(topic), Some(partition)) => format!("{topic}/{partition}: "),
        (Some(_), None) | (None, _) => String::new(),
    };
    let positions = held.positions.as_ref().map(|positions| format!(" ({positions})")).unwrap_or_default();
    let more = if others == 0 { String::new() } else { format!(", and {others} more") };
    format!("{place}{}{positions}{more}", short_reason(&held.reason))
}

/// The state afterwards, with what keeps it from being the one that was wished for.
fn follows(request: &Request, done: &Done) -> String {
    let status = &done.status;
    // What is held again was told already.
    let is_told = matches!(request, Request::Retry {}) && !done.changed && !status.held.is_empty();
    let detail = status.detail.as_ref().filter(|_| !is_told);
    let detail = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
    let mut words = format!("state {}{detail}", status.state);
    let out = status.batches.iter().any(|batch| batch.stands == "out");
    match request {
        Request::Pause {} if out => words.push_str("; the batch that is with the plugin may end"),
        Request::Retry {} | Request::Skip { .. } if status.paused => {
            words.push_str("; hand-overs are paused until gristmill resume");
        }
        Request::Status {}
        | Request::Pause {}
        | Request::Resume {}
        | Request::Retry {}
        | Request::Skip { .. }
        | Request::Stop { .. } => {}
    }
    words
}
