//! What a guest prints, as bounded log events.
//!
//! A line becomes one event with target `gristmill::plugin`. Bytes are never interpreted: control characters are escaped, long
//! lines cut, floods dropped and counted. The end of what was written is kept for the text of a fault.
//!
//! An [`Outlet`] is a plugin's stream, an [`Output`] that of one instance. The budget lies in the first: instances come and go
//! with every batch.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
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
    dropped_bytes: u64,
    tail: VecDeque<u8>,
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
        let lines = Lines { outlet, line: Vec::new(), cut_bytes: 0, dropped_bytes: 0, tail: VecDeque::new() };
        Self { lines: Arc::new(Mutex::new(lines)) }
    }

    /// Ends an unfinished line and tells what was dropped, once a second at most. Called after every hand-over.
    pub(crate) fn finish(&self) {
        let mut lines = self.lock();
        if !lines.line.is_empty() {
            lines.end_line();
        }
        lines.outlet.tell_dropped();
    }

    /// Bytes dropped since the instance began.
    pub(crate) fn dropped_bytes(&self) -> u64 {
        self.lock().dropped_bytes
    }

    /// The end of what was written since this was last asked.
    pub(crate) fn take_tail(&self) -> Vec<u8> {
        Vec::from(std::mem::take(&mut self.lock().tail))
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
        let kept = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
        let surplus = (self.tail.len() + kept.len()).saturating_sub(TAIL_BYTES);
        self.tail.drain(..surplus);
        self.tail.extend(kept);

        let mut pieces = bytes.split(|byte| *byte == b'\n');
        let last = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            self.extend_line(piece);
            self.end_line();
        }
        self.extend_line(last);
    }

    fn extend_line(&mut self, piece: &[u8]) {
        let room = self.outlet.line_bytes_max - self.line.len();
        let (fits, cut) = piece.split_at(piece.len().min(room));
        self.line.extend_from_slice(fits);
        self.cut_bytes += cut.len() as u64;
    }

    fn end_line(&mut self) {
        let cut_bytes = std::mem::take(&mut self.cut_bytes);
        self.dropped_bytes += cut_bytes;
        if !self.outlet.print(&self.line, cut_bytes) {
            self.dropped_bytes += self.line.len() as u64 + 1;
        }
        self.line.clear();
    }
}

/// Makes bytes safe to show: bytes that are not UTF-8 as replacement characters, control and direction characters as escapes.
#[must_use]
pub fn escape(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        let directs = matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if char.is_control() || directs {
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
    use super::*;

    fn output() -> Output {
        Output::new(&Outlet::new("sha256:abc".into(), "stderr", &Limits::STRICT))
    }

    #[test]
    fn what_moves_a_terminal_or_forges_a_line_is_escaped() {
        assert_eq!(escape(b"\x1b[2Ja\rb\x07"), r"\u{1b}[2Ja\rb\u{7}");
        assert_eq!(escape("a\u{202e}b".as_bytes()), r"a\u{202e}b");
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
