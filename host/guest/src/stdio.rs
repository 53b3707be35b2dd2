//! What a guest prints, as bounded log events.
//!
//! A line becomes one event with target `gristmill::plugin`. Bytes are never interpreted: control characters are escaped, long
//! lines cut, floods dropped and counted. The end of what was written is kept for the text of a fault.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError};

use crate::limits::Limits;

/// How much of a stream's end is kept for the text of a fault.
const TAIL_BYTES: usize = 2_048;

/// How much a guest may write in one host call. Bounds what wasmtime allocates for it.
const WRITE_BYTES: usize = 16 << 10;

/// The span of time over which output is counted.
const WINDOW: Duration = Duration::from_secs(1);

/// One output stream of one instance. Clones write to the same stream.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    lines: Arc<Mutex<Lines>>,
}

#[derive(Debug)]
struct Lines {
    plugin: Arc<str>,
    stream: &'static str,
    line_bytes_max: usize,
    window_bytes_max: u64,
    line: Vec<u8>,
    cut_bytes: u64,
    window_began: Instant,
    window_bytes: u64,
    window_dropped_bytes: u64,
    dropped_bytes: u64,
    tail: VecDeque<u8>,
}

impl Output {
    /// A stream of an instance of `plugin`, by its short digest.
    pub(crate) fn new(plugin: Arc<str>, stream: &'static str, limits: &Limits) -> Self {
        let lines = Lines {
            plugin,
            stream,
            line_bytes_max: limits.output_line_bytes,
            window_bytes_max: limits.output_bytes_per_second,
            line: Vec::new(),
            cut_bytes: 0,
            window_began: Instant::now(),
            window_bytes: 0,
            window_dropped_bytes: 0,
            dropped_bytes: 0,
            tail: VecDeque::new(),
        };
        Self { lines: Arc::new(Mutex::new(lines)) }
    }

    /// Ends an unfinished line and reports what was dropped. Called after every hand-over.
    pub(crate) fn finish(&self) {
        let mut lines = self.lock();
        if !lines.line.is_empty() {
            lines.end_line();
        }
        lines.report_dropped();
    }

    /// Bytes dropped since the instance began.
    pub(crate) fn dropped_bytes(&self) -> u64 {
        self.lock().dropped_bytes
    }

    /// The end of what was written since this was last asked, escaped, without surrounding white space.
    pub(crate) fn take_tail(&self) -> String {
        let tail = Vec::from(std::mem::take(&mut self.lock().tail));
        escape(tail.trim_ascii())
    }

    fn write(&self, bytes: &[u8]) {
        self.lock().write(bytes);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Lines> {
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
        let room = self.line_bytes_max - self.line.len();
        let (fits, cut) = piece.split_at(piece.len().min(room));
        self.line.extend_from_slice(fits);
        self.cut_bytes += cut.len() as u64;
    }

    fn end_line(&mut self) {
        if self.window_began.elapsed() >= WINDOW {
            self.report_dropped();
            self.window_began = Instant::now();
            self.window_bytes = 0;
        }
        let line_bytes = self.line.len() as u64 + 1;
        let cut_bytes = std::mem::take(&mut self.cut_bytes);
        self.dropped_bytes += cut_bytes;
        if self.window_bytes + line_bytes > self.window_bytes_max {
            self.window_dropped_bytes += line_bytes + cut_bytes;
            self.dropped_bytes += line_bytes;
        } else {
            self.window_bytes += line_bytes;
            let mut text = escape(self.line.trim_ascii_end());
            if cut_bytes > 0 {
                // Writing to a string cannot fail.
                let _ = write!(text, " … ({cut_bytes} bytes cut)");
            }
            tracing::info!(target: "gristmill::plugin", plugin = %self.plugin, stream = self.stream, "{text}");
        }
        self.line.clear();
    }

    fn report_dropped(&mut self) {
        let dropped_bytes = std::mem::take(&mut self.window_dropped_bytes);
        if dropped_bytes > 0 {
            tracing::warn!(
                target: "gristmill::plugin",
                plugin = %self.plugin,
                stream = self.stream,
                dropped_bytes,
                "plugin output was dropped: more than {} bytes a second",
                self.window_bytes_max
            );
        }
    }
}

/// Makes bytes safe to show: bytes that are not UTF-8 as replacement characters, control and direction characters as escapes.
pub(crate) fn escape(bytes: &[u8]) -> String {
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
        Output::new("sha256:abc".into(), "stderr", &Limits::STRICT)
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
    fn empty_writes_leave_nothing_behind() {
        let output = output();
        for _ in 0..1_000 {
            output.write(b"");
        }
        assert_eq!((output.dropped_bytes(), output.take_tail()), (0, String::new()));
    }

    #[test]
    fn the_tail_is_the_end_of_what_was_written() {
        let output = output();
        output.write(&[b'a'; 10_000]);
        output.write(b"the end\n");
        let tail = output.take_tail();
        assert!(tail.ends_with("athe end") && tail.len() < TAIL_BYTES, "{tail}");
        assert_eq!(output.take_tail(), "");
    }
}
