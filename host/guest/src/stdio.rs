//! What a guest prints, as bounded log events.
//!
//! A line becomes one event with target `gristmill::plugin`. Bytes are never interpreted: control characters are escaped, long
//! lines cut, floods dropped and counted. The end of what was written is kept for the text of a fault.
//!
//! An [`Outlet`] is a plugin's stream, an [`Output`] that of one instance. The budget lies in the first: instances come and go
//! with every batch.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError};

use crate::budget::Budget;
use crate::limits::Limits;

/// How much of a stream's end is kept for the text of a fault.
const TAIL_BYTES: usize = 2_048;

/// How much a guest may write in one host call. Bounds what wasmtime allocates for it.
const WRITE_BYTES: usize = 16 << 10;

/// One output stream of a plugin, whichever of its instances prints.
#[derive(Debug)]
pub(crate) struct Outlet {
    plugin: Arc<str>,
    stream: &'static str,
    line_bytes_max: usize,
    bytes_max: u64,
    budget: Mutex<Budget>,
}

/// One output stream of one instance. Clones write to the same stream.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    lines: Arc<Mutex<Lines>>,
}

#[derive(Debug)]
struct Lines {
    outlet: Arc<Outlet>,
    line: Vec<u8>,
    cut_bytes: u64,
    /// The line that is being written was dropped in part, and the rest of it is dropped as well.
    broken_off: bool,
    dropped_bytes: u64,
    /// The end of what was written, and at most as much again of what came before.
    tail: Vec<u8>,
}

impl Outlet {
    /// A stream of `plugin`, by its short digest.
    pub(crate) fn new(plugin: Arc<str>, stream: &'static str, limits: &Limits) -> Arc<Self> {
        let bytes_max = limits.output_bytes_per_second;
        let budget = Mutex::new(Budget::new(bytes_max));
        Arc::new(Self { plugin, stream, line_bytes_max: limits.output_line_bytes, bytes_max, budget })
    }

    fn budget(&self) -> MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs a line of which so many bytes were cut. False: the budget is spent, and it was dropped.
    fn print(&self, line: &[u8], cut_bytes: u64) -> bool {
        let line_bytes = line.len() as u64 + 1;
        let (passes, notice) = {
            let (now, mut budget) = (Instant::now(), self.budget());
            let notice = if budget.renew(now) { budget.take_notice(now) } else { None };
            let passes = budget.pass(line_bytes);
            if !passes {
                budget.note_dropped(line_bytes + cut_bytes);
            }
            (passes, notice)
        };
        self.tell(notice);
        if passes {
            let mut text = escape(line.trim_ascii_end());
            if cut_bytes > 0 {
                // Writing to a string cannot fail.
                let _ = write!(text, " … ({cut_bytes} bytes cut)");
            }
            tracing::info!(target: "gristmill::plugin", plugin = %self.plugin, stream = self.stream, "{text}");
        }
        passes
    }

    /// Counts these bytes as dropped.
    fn note_dropped(&self, bytes: u64) {
        self.budget().note_dropped(bytes);
    }

    /// True while the budget is spent: nothing of what is written needs to be looked at.
    fn drops_all(&self) -> bool {
        self.budget().is_spent(Instant::now())
    }

    fn tell_dropped(&self) {
        let notice = self.budget().take_notice(Instant::now());
        self.tell(notice);
    }

    fn tell(&self, notice: Option<u64>) {
        let Some(dropped_bytes) = notice else { return };
        tracing::warn!(
            target: "gristmill::plugin",
            plugin = %self.plugin,
            stream = self.stream,
            dropped_bytes,
            "plugin output was dropped: more than {} bytes a second",
            self.bytes_max
        );
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        let rest = self.budget().take_rest();
        self.tell(rest);
    }
}

impl Output {
    /// The stream of a new instance, which prints to `outlet`.
    pub(crate) fn new(outlet: &Arc<Outlet>) -> Self {
        let outlet = Arc::clone(outlet);
        let (line, tail) = (Vec::new(), Vec::new());
        let lines = Lines { outlet, line, cut_bytes: 0, broken_off: false, dropped_bytes: 0, tail };
        Self { lines: Arc::new(Mutex::new(lines)) }
    }

    /// Ends an unfinished line and tells what was dropped, once a second at most. Called after every hand-over.
    pub(crate) fn finish(&self) {
        let mut lines = self.lock();
        if !lines.line.is_empty() {
            lines.end_line();
        }
        lines.broken_off = false;
        lines.outlet.tell_dropped();
    }

    /// Bytes dropped since the instance began.
    pub(crate) fn dropped_bytes(&self) -> u64 {
        self.lock().dropped_bytes
    }

    /// The end of what was written since this was last asked.
    pub(crate) fn take_tail(&self) -> Vec<u8> {
        let mut tail = std::mem::take(&mut self.lock().tail);
        tail.drain(..tail.len().saturating_sub(TAIL_BYTES));
        tail
    }

    fn write(&self, bytes: &[u8]) {
        self.lock().write(bytes);
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    fn write(&mut self, bytes: &[u8]) {
        self.keep_tail(bytes);
        if self.outlet.drops_all() {
            return self.drop_all(bytes);
        }
        let mut rest = self.behind_what_was_broken_off(bytes);
        // `contains` is quick, also where this crate is built without optimisation.
        while rest.contains(&b'\n') {
            let at = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            self.extend_line(&rest[..at]);
            rest = &rest[at + 1..];
            if !self.end_line() {
                return self.drop_all(rest);
            }
        }
        self.extend_line(rest);
    }

    fn keep_tail(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..]);
        if self.tail.len() > 2 * TAIL_BYTES {
            self.tail.drain(..self.tail.len() - TAIL_BYTES);
        }
    }

    /// Drops what is written, and with it the line that it continues. Costs the same however much it is.
    fn drop_all(&mut self, bytes: &[u8]) {
        let line_bytes = self.line.len() as u64 + self.cut_bytes;
        let dropped_bytes = line_bytes + bytes.len() as u64;
        self.line.clear();
        self.cut_bytes = 0;
        self.broken_off = match bytes.last() {
            Some(last) => *last != b'\n',
            None => self.broken_off || line_bytes > 0,
        };
        self.dropped_bytes += dropped_bytes;
        self.outlet.note_dropped(dropped_bytes);
    }

    /// What is written behind the end of a line that was dropped in part.
    fn behind_what_was_broken_off<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        if !self.broken_off {
            return bytes;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        let (dropped, behind) = bytes.split_at(end);
        self.drop_all(dropped);
        behind
    }

    fn extend_line(&mut self, piece: &[u8]) {
        let room = self.outlet.line_bytes_max - self.line.len();
        let (fits, cut) = piece.split_at(piece.len().min(room));
        self.line.extend_from_slice(fits);
        self.cut_bytes += cut.len() as u64;
    }

    /// False: the budget is spent, and the line was dropped.
    fn end_line(&mut self) -> bool {
        let cut_bytes = std::mem::take(&mut self.cut_bytes);
        self.dropped_bytes += cut_bytes;
        let printed = self.outlet.print(&self.line, cut_bytes);
        if !printed {
            self.dropped_bytes += self.line.len() as u64 + 1;
        }
        self.line.clear();
        printed
    }
}

/// Makes a path safe to show, as [`escape`] does.
#[must_use]
pub fn escape_path(path: &Path) -> String {
    escape(path.as_os_str().as_encoded_bytes())
}

/// Makes bytes safe to show: bytes that are not UTF-8 as replacement characters; control characters, and what has no width but
/// directs, divides or hides a text, as escapes.
#[must_use]
pub fn escape(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        let directs =
            matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let hides = matches!(char, '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
        if char.is_control() || directs || hides {
            safe.extend(char.escape_default());
        } else {
            safe.push(char);
        }
    }
    safe
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}

#[wasmtime_wasi::async_trait]
impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> Result<(), StreamError> {
        Self::write(self, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StreamError> {
        Ok(())
    }

    fn check_write(&mut self) -> Result<usize, StreamError> {
        Ok(WRITE_BYTES)
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Self::write(&self, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn output() -> Output {
        Output::new(&Outlet::new("sha256:abc".into(), "stderr", &Limits::STRICT))
    }

    #[test]
    fn what_moves_a_terminal_or_forges_a_line_is_escaped() {
        assert_eq!(escape(b"\x1b[2Ja\rb\x07"), r"\u{1b}[2Ja\rb\u{7}");
        assert_eq!(escape("a\u{202e}b".as_bytes()), r"a\u{202e}b");
        assert_eq!(escape("\u{9b}2J\u{2028}\u{200b}\u{feff}".as_bytes()), r"\u{9b}2J\u{2028}\u{200b}\u{feff}");
        assert_eq!(escape("é漢👩\u{200d}🚀".as_bytes()), "é漢👩\u{200d}🚀");
        assert_eq!(escape(b"na\xefve"), "na\u{fffd}ve");
    }

    #[test]
    fn a_long_line_is_cut_and_counted() {
        let output = output();
        output.write(&[b'x'; 5_000]);
        output.write(b"\n");
        assert_eq!(output.dropped_bytes(), 5_000 - 4_096);
    }

    #[test]
    fn a_flood_is_dropped_and_counted() {
        let output = output();
        for _ in 0..2_000 {
            output.write(&[b'x'; 99]);
            output.write(b"\n");
        }
        let kept_bytes = 200_000 - output.dropped_bytes();
        assert!(kept_bytes <= 2 * Limits::STRICT.output_bytes_per_second, "kept {kept_bytes}");
    }

    /// Lines beyond the limit are not even looked at: a flood must not use a plugin's time up. Both floods are measured on the
    /// same machine, one after the other.
    #[test]
    fn what_is_dropped_costs_next_to_nothing() {
        let flood = |bytes_max: u64| {
            let limits = Limits { output_bytes_per_second: bytes_max, ..Limits::STRICT };
            let output = Output::new(&Outlet::new("sha256:abc".into(), "stderr", &limits));
            let lines = [&[b'x'; 63], &b"\n"[..]].concat().repeat(256);
            let began = Instant::now();
            (0..400).for_each(|_| output.write(&lines));
            assert_eq!(output.dropped_bytes() == 0, bytes_max == u64::MAX);
            began.elapsed()
        };
        // The least of several: whatever else the machine does only adds.
        let least = |bytes_max| (0..5).map(|_| flood(bytes_max)).min().unwrap_or_default();
        let (printed, dropped) = (least(u64::MAX), least(0));
        assert!(dropped * 20 < printed, "{dropped:?} for what was dropped, {printed:?} for what was not");
    }

    /// Its other half would look like a line of its own.
    #[test]
    fn a_line_that_was_dropped_in_part_is_dropped_to_its_end() {
        let limits = Limits { output_bytes_per_second: 1_000, ..Limits::STRICT };
        let output = Output::new(&Outlet::new("sha256:abc".into(), "stderr", &limits));
        output.write(&b"\n".repeat(100));
        let dropped_bytes = output.dropped_bytes();
        output.write(b"one half");
        // The window is over.
        output.lock().outlet.budget().renew(Instant::now() + Duration::from_secs(2));
        output.write(b" and the other\nthe next");
        assert_eq!(output.dropped_bytes() - dropped_bytes, b"one half and the other\n".len() as u64);
        output.write(b" line\n");
        assert_eq!(output.dropped_bytes() - dropped_bytes, b"one half and the other\n".len() as u64);
    }

    #[test]
    fn instances_share_what_their_plugin_may_print() {
        let began = Instant::now();
        let outlet = Outlet::new("sha256:abc".into(), "stderr", &Limits::STRICT);
        let mut kept_lines = 0;
        for _ in 0..100 {
            let output = Output::new(&outlet);
            output.write(&b"\n".repeat(1_000));
            kept_lines += 1_000 - output.dropped_bytes();
        }
        let windows = 1 + began.elapsed().as_secs();
        assert!((1..=windows * 1_024).contains(&kept_lines), "kept {kept_lines} empty lines in {windows} windows");
    }

    #[test]
    fn empty_writes_leave_nothing_behind() {
        let output = output();
        for _ in 0..1_000 {
            output.write(b"");
        }
        assert_eq!((output.dropped_bytes(), output.take_tail()), (0, Vec::new()));
    }

    #[test]
    fn the_tail_is_the_end_of_what_was_written() {
        let output = output();
        output.write(&[b'a'; 10_000]);
        output.write(b"the end\n");
        let tail = output.take_tail();
        assert!(tail.ends_with(b"athe end\n") && tail.len() == TAIL_BYTES, "{tail:?}");
        assert_eq!(output.take_tail(), b"");
    }
}
