//! Where commands write: results to stdout, problems and the last line to stderr.
//!
//! A reader that went away (a closed pipe) is no error. A result that cannot be written for another reason is. Where logs are for
//! machines, so is everything else that goes to stderr.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::ops::Range;

use serde::Serialize;

use crate::config::{ConfigError, Place, Problem};
use crate::exit::{self, Exit};
use crate::stderr;
use crate::telemetry::{LogFormat, json_line};

/// The terminal, or what stands in for it.
#[derive(Debug)]
pub(crate) struct Console {
    colors: bool,
    /// What goes to stderr looks like the log.
    format: LogFormat,
    /// Why a result could not be written.
    unwritten: Option<io::Error>,
    /// Whoever read the results went away.
    left_alone: bool,
}

impl Console {
    /// The process's own streams. Colours only on a terminal, and never with `NO_COLOR`.
    pub(crate) fn new(format: LogFormat) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { colors: wanted && io::stderr().is_terminal(), format, unwritten: None, left_alone: false }
    }

    /// How what goes to stderr looks.
    pub(crate) fn format(&self) -> LogFormat {
        self.format
    }

    /// True when stderr may carry colours.
    pub(crate) fn colors(&self) -> bool {
        self.colors
    }

    /// Prints a result.
    pub(crate) fn say(&mut self, line: impl Display) {
        match writeln!(io::stdout().lock(), "{line}") {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.left_alone = true,
            Err(error) => drop(self.unwritten.get_or_insert(error)),
        }
    }

    /// True when nobody gets what is printed any more: a command that has much to print may end.
    pub(crate) fn is_unheard(&self) -> bool {
        self.left_alone || self.unwritten.is_some()
    }

    /// The columns of the terminal that results go to; `None` where they go elsewhere.
    pub(crate) fn columns() -> Option<usize> {
        /// What is assumed when nobody says.
        const USUAL: usize = 80;
        let of_terminal = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        let of_environment = || std::env::var("COLUMNS").ok()?.parse().ok();
        io::stdout().is_terminal().then(|| of_terminal().or_else(of_environment).unwrap_or(USUAL))
    }

    /// Prints a result for machines.
    pub(crate) fn say_json(&mut self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(text) => self.say(text),
            Err(error) => self.complain("error", error),
        }
    }

    /// Prints something that is not the result. `level` as in a log line.
    pub(crate) fn complain(&mut self, level: &str, line: impl Display) {
        let line = match self.format {
            LogFormat::Text => format!("{line}\n"),
            LogFormat::Json => json_line(level, &line.to_string(), []),
        };
        stderr::say(line.as_bytes());
    }

    /// Says every problem, each with the line it stands in below it, which is for people only. The last line says the first of
    /// them again; so one that has no line to show is left to it.
    pub(crate) fn show(&mut self, error: &ConfigError) {
        let for_people = self.format == LogFormat::Text;
        let shown = |problem| if for_people { excerpt(problem) } else { None };
        if let [problem] = error.problems.as_slice()
            && shown(problem).is_none()
        {
            return;
        }
        for problem in &error.problems {
            self.complain("error", escape(&problem.to_string()));
            if let Some((number, line, span)) = shown(problem) {
                self.underline(number, line, span);
            }
        }
    }

    /// How a command ends that would have ended so: not well when its result could not be written.
    pub(crate) fn judge(&self, exit: Exit) -> Exit {
        match &self.unwritten {
            Some(error) if exit.code() == exit::CLEAN => {
                Exit::because(exit::UNEXPECTED, format!("the result could not be written to stdout: {error}"))
            }
            Some(_) | None => exit,
        }
    }

    /// The last line on stderr: why the process ends, and what to do. Waits a moment until all is written.
    pub(crate) fn last_line(&mut self, exit: &Exit) {
        let Some(why) = exit.why().map(escape) else { return stderr::finish() };
        let line = match self.format {
            LogFormat::Text => format!("gristmill: {why}\n"),
            LogFormat::Json => {
                let level = if exit.code() == exit::CLEAN { "info" } else { "error" };
                json_line(level, &why, [("exit_code", exit.code().into())])
            }
        };
        stderr::say_last(line.as_bytes());
    }

    /// Shows a line with a place in it underlined.
    fn underline(&mut self, number: usize, line: &str, span: Range<usize>) {
        let number = number.to_string();
        let margin = " ".repeat(number.len());
        let (red, plain) = if self.colors { ("\u{1b}[31m", "\u{1b}[0m") } else { ("", "") };
        self.complain("error", format_args!("  {number} | {line}"));
        self.complain(
            "error",
            format_args!("  {margin} | {}{red}{}{plain}", indent(&line[..span.start]), carets(&line[span])),
        );
    }
}

/// The line that a problem stands in, with its number and the bytes to underline.
fn excerpt(problem: &Problem) -> Option<(usize, &str, Range<usize>)> {
    let Some(Place::File(spot)) = &problem.place else { return None };
    let (line, span) = spot.shown.as_ref()?;
    Some((spot.line, line, span.clone()))
}

/// Shows what would move a terminal or turn a line round instead of obeying it: a plugin's words may stand in the text.
pub(crate) fn escape(text: &str) -> String {
    gristmill_guest::escape(text.as_bytes())
}

/// Blanks as wide as `text`; a tab stays a tab.
fn indent(text: &str) -> String {
    text.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect()
}

/// A mark under each character of `text`, and at least one.
fn carets(text: &str) -> String {
    "^".repeat(text.chars().count().max(1))
}
