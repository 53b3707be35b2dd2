//! The queue between everybody who has something to say and the one thread that writes it.
//!
//! It is bounded in bytes. A line that finds no room, or that cannot be written, is dropped and counted, and the count is told
//! once lines are written again. Nothing follows the last line, whichever thread still has something to say. The live line is no
//! line of the queue but a place of its own: only the newest is ever written.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that may wait. A line that finds no room is dropped.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// What a line costs beside its text, so that many short ones are bounded as well.
const LINE_COST: usize = 64;

/// While the queue is never empty, dropped lines are told once in this time.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// How long the thread waits when the stream says that it cannot take anything just now, which only a non-blocking one does.
const RETRY_WAIT: Duration = Duration::from_millis(10);

/// Goes to the start of the terminal's line and clears it.
const CLEAR: &str = "\r\u{1b}[2K";

/// What waits to be written.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    /// What `lines` cost.
    bytes: usize,
    /// What is written when all lines are.
    last: Option<Vec<u8>>,
    /// True once there was a last line: nothing is taken any more.
    ended: bool,
    /// Lines that were dropped and not told.
    dropped: u64,
    /// What the live line shall be; empty: there shall be none.
    live: String,
    /// True when `live` is newer than what is on the terminal.
    live_is_new: bool,
    /// True when there is a live line on the terminal.
    live_is_shown: bool,
    /// True while the thread writes, or tells what was dropped.
    busy: bool,
    /// True while the thread tells what was dropped: there is room for that.
    telling: bool,
}

impl Queue {
    /// Leaves a line, or several, to be written; drops it when there is no room, or when the last line was said.
    pub(super) fn push(&self, line: &[u8]) {
        let mut state = self.lock();
        if state.ended && !state.telling {
            return;
        }
        if state.bytes + cost(line) > WAITING_BYTES_MAX && !state.telling {
            state.dropped += 1;
            return;
        }
        state.put(line);
        self.changed.notify_all();
    }

    /// Leaves the last line, for which there is always room. The live line goes.
    pub(super) fn push_last(&self, line: &[u8]) {
        let mut state = self.lock();
        state.last = Some(line.to_vec());
        state.ended = true;
        state.live.clear();
        state.live_is_new = true;
        self.changed.notify_all();
    }

    /// Says what the live line shall be.
    pub(super) fn show_live(&self, text: String) {
        let mut state = self.lock();
        if state.ended {
            return;
        }
        state.live = text;
        state.live_is_new = true;
        self.changed.notify_all();
    }

    /// Waits until everything is written, but not for longer than this.
    pub(super) fn wait_until_written(&self, wait_max: Duration) {
        let unwritten = |state: &mut State| state.has_work() || state.busy;
        drop(self.changed.wait_timeout_while(self.lock(), wait_max, unwritten));
    }

    /// Writes what is left here, for ever. `tell` is told of lines that were dropped, and may leave a line here.
    pub(super) fn serve(&self, mut out: impl Write, tell: impl Fn(u64)) {
        let mut told = Instant::now();
        // True when a line was written in part only: the next one shall not be glued to it.
        let mut torn = false;
        loop {
            let (mut text, lines) = self.take();
            if torn {
                text.insert(0, b'\n');
            }
            let written = write(&mut out, &text);
            torn = written.is_err_and(|partly| torn || partly);
            let mut state = self.lock();
            if written.is_err() {
                state.dropped += lines;
            }
            let open = !state.ended || state.last.is_some();
            let due = open && (state.lines.is_empty() || told.elapsed() >= TELL_EVERY);
            // Only after a success, or a full disk would have us tell for ever.
            let dropped = if written.is_ok() && lines > 0 && due { std::mem::take(&mut state.dropped) } else { 0 };
            state.telling = dropped > 0;
            state.busy = state.telling;
            drop(state);
            if dropped > 0 {
                told = Instant::now();
                tell(dropped);
                let mut state = self.lock();
                (state.telling, state.busy) = (false, false);
            }
            self.changed.notify_all();
        }
    }

    /// Waits for something to write. Gives it with the number of lines in it.
    fn take(&self) -> (Vec<u8>, u64) {
        let idle = |state: &mut State| !state.has_work();
        let mut state = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        state.busy = true;
        let line = state.lines.pop_front();
        state.bytes -= line.as_deref().map_or(0, cost);
        let line = line.or_else(|| state.last.take());
        let lines = u64::from(line.is_some());
        let clear = if state.live_is_shown || !state.live.is_empty() { CLEAR } else { "" };
        let text = [clear.as_bytes(), &line.unwrap_or_default(), state.live.as_bytes()].concat();
        state.live_is_shown = !state.live.is_empty();
        state.live_is_new = false;
        (text, lines)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn put(&mut self, line: &[u8]) {
        self.bytes += cost(line);
        self.lines.push_back(line.to_vec());
    }

    fn has_work(&self) -> bool {
        !self.lines.is_empty() || self.last.is_some() || self.live_is_new
    }
}

fn cost(line: &[u8]) -> usize {
    line.len() + LINE_COST
}

/// Writes all of it. The error says whether some of it was written.
fn write(out: &mut impl Write, mut text: &[u8]) -> Result<(), bool> {
    let whole = text.len();
    while !text.is_empty() {
        match out.write(text) {
            Ok(0) => return Err(text.len() < whole),
            Ok(written) => text = &text[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(RETRY_WAIT),
            Err(_) => return Err(text.len() < whole),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// A stream that takes everything, nothing for the time being, or nothing for good.
    #[derive(Clone, Debug, Default)]
    struct Stream(Arc<(Mutex<Seen>, Condvar)>);

    #[derive(Debug, Default)]
    struct Seen {
        text: String,
        stuck: bool,
        broken: bool,
        /// True once something was to be written.
        asked: bool,
    }

    impl Stream {
        fn set(&self, change: impl FnOnce(&mut Seen)) {
            change(&mut self.0.0.lock().unwrap());
            self.0.1.notify_all();
        }

        fn text(&self) -> String {
            self.0.0.lock().unwrap().text.clone()
        }

        fn wait_until_asked(&self) {
            let not_asked = |seen: &mut Seen| !seen.asked;
            let (seen, _) = self.0.1.wait_timeout_while(self.0.0.lock().unwrap(), LONG, not_asked).unwrap();
            assert!(seen.asked, "nothing was written");
        }

        #[track_caller]
        fn wait_for(&self, text: &str) {
            let lacks = |seen: &mut Seen| !seen.text.contains(text);
            let (seen, _) = self.0.1.wait_timeout_while(self.0.0.lock().unwrap(), LONG, lacks).unwrap();
            assert!(seen.text.contains(text), "no {text:?} in {:?}", seen.text);
        }
    }

    impl Write for Stream {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.set(|seen| seen.asked = true);
            let mut seen = self.0.1.wait_while(self.0.0.lock().unwrap(), |seen| seen.stuck).unwrap();
            if seen.broken {
                return Err(io::ErrorKind::StorageFull.into());
            }
            seen.text.push_str(std::str::from_utf8(bytes).unwrap());
            self.0.1.notify_all();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A queue whose thread writes to the stream. What was dropped is told as a line `dropped N`.
    fn served(stream: &Stream) -> Arc<Queue> {
        let queue = Arc::new(Queue::default());
        let (serving, telling, stream) = (Arc::clone(&queue), Arc::clone(&queue), stream.clone());
        std::thread::spawn(move || {
            serving.serve(stream, |lines| telling.push(format!("dropped {lines}\n").as_bytes()));
        });
        queue
    }

    #[test]
    fn a_stream_that_takes_nothing_holds_nobody_up_and_the_drops_are_told_when_it_takes_again() {
        let stream = Stream::default();
        stream.set(|seen| seen.stuck = true);
        let queue = served(&stream);
        let lines = 3 * WAITING_BYTES_MAX / (1_000 + LINE_COST);
        for number in 0..lines {
            queue.push(format!("{number:999}\n").as_bytes());
            if number == 0 {
                // Taken later it would make room for a line behind those that found none.
                stream.wait_until_asked();
            }
            assert!(queue.lock().bytes <= WAITING_BYTES_MAX);
        }
        let began = Instant::now();
        queue.push_last(b"the end\n");
        queue.wait_until_written(Duration::from_millis(50));
        assert!(began.elapsed() < LONG, "the wait has a bound");
        stream.set(|seen| seen.stuck = false);
        stream.wait_for("the end\n");
        let text = stream.text();
        let (kept, told) = text.strip_suffix("the end\n").unwrap().split_once("dropped ").unwrap();
        let kept: Vec<usize> = kept.lines().map(|line| line.trim().parse().unwrap()).collect();
        assert_eq!(kept, (0..kept.len()).collect::<Vec<_>>(), "those that came first are kept, in order");
        assert_eq!(kept.len() + told.trim().parse::<usize>().unwrap(), lines);
    }

    /// A stop does not wait for the thread that loads, which may still have a warning or the plugin's words to say.
    #[test]
    fn nothing_follows_the_last_line() {
        let stream = Stream::default();
        let queue = served(&stream);
        queue.push(b"first\n");
        queue.push_last(b"the end\n");
        queue.push(b"a warning that comes too late\n");
        queue.show_live("running".to_owned());
        queue.wait_until_written(LONG);
        assert_eq!(stream.text(), "first\nthe end\n");
    }

    #[test]
    fn lines_that_cannot_be_written_are_told_once_they_can_be() {
        let stream = Stream::default();
        stream.set(|seen| seen.broken = true);
        let queue = served(&stream);
        for _ in 0..3 {
            queue.push(b"to a full disk\n");
            queue.wait_until_written(LONG);
        }
        assert_eq!(stream.text(), "");
        stream.set(|seen| seen.broken = false);
        queue.push(b"there is room\n");
        queue.wait_until_written(LONG);
        assert_eq!(stream.text(), "there is room\ndropped 3\n");
    }

    #[test]
    fn lines_go_above_the_live_line_of_which_only_the_newest_is_written() {
        let stream = Stream::default();
        stream.set(|seen| seen.stuck = true);
        let queue = served(&stream);
        queue.push(b"first\n");
        // Not before the thread is stuck in this line: what comes now waits.
        let began = Instant::now();
        while !queue.lock().lines.is_empty() {
            assert!(began.elapsed() < LONG, "nobody takes it");
            std::thread::yield_now();
        }
        queue.show_live("running 1".to_owned());
        queue.show_live("running 2".to_owned());
        queue.push(b"second\n");
        stream.set(|seen| seen.stuck = false);
        queue.wait_until_written(LONG);
        queue.push_last(b"the end\n");
        queue.wait_until_written(LONG);
        assert_eq!(stream.text(), format!("first\n{CLEAR}second\nrunning 2{CLEAR}the end\n"));
    }

    #[test]
    fn a_line_is_not_glued_to_one_that_was_torn() {
        /// Takes four bytes, then fails, then takes everything.
        struct Torn(Stream, u32);

        impl Write for Torn {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.1 += 1;
                match self.1 {
                    1 => self.0.write(&bytes[..4]),
                    2 => Err(io::ErrorKind::StorageFull.into()),
                    _ => self.0.write(bytes),
                }
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        let stream = Stream::default();
        let queue = Arc::new(Queue::default());
        let (serving, torn) = (Arc::clone(&queue), Torn(stream.clone(), 0));
        std::thread::spawn(move || serving.serve(torn, |_| {}));
        queue.push(b"{\"a\":1}\n");
        queue.push(b"{\"b\":2}\n");
        queue.wait_until_written(LONG);
        assert_eq!(stream.text(), "{\"a\"\n{\"b\":2}\n");
    }
}
