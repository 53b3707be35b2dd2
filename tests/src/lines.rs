//! The lines that a process prints, collected while it runs; tests wait for one instead of sleeping.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Lines as they come, shared between the thread that reads them and the test that waits for them.
#[derive(Clone, Debug, Default)]
pub struct Lines(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: Vec<String>,
    /// Streams that are still being read. Without one, no line can come any more.
    streams: usize,
}

impl Lines {
    /// Reads a stream to its end on a thread of its own.
    pub fn read_from(&self, stream: impl Read + Send + 'static) -> std::thread::JoinHandle<()> {
        let lines = self.clone();
        lines.change(|state| state.streams += 1);
        std::thread::spawn(move || {
            for line in BufReader::new(stream).split(b'\n') {
                let Ok(line) = line else { break };
                let line = String::from_utf8_lossy(&line).into_owned();
                lines.change(|state| state.lines.push(line));
            }
            lines.change(|state| state.streams -= 1);
        })
    }

    /// All lines so far.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.lock().lines.clone()
    }

    /// Waits until the condition holds for the lines so far; returns what it found, or `None` when time is up or no line can
    /// come any more.
    pub fn wait<T>(&self, within: Duration, mut found: impl FnMut(&[String]) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + within;
        let mut state = self.lock();
        loop {
            if let Some(value) = found(&state.lines) {
                return Some(value);
            }
            let left = deadline.checked_duration_since(Instant::now()).filter(|_| state.streams > 0)?;
            state = self.0.news.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.0.news.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A test that panicked while it held the lock has broken nothing: lines are only added.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_came_before_is_found_and_one_that_never_comes_is_not() {
        let lines = Lines::default();
        lines.read_from("one\ntwo\n".as_bytes()).join().unwrap();
        let is_two = |lines: &[String]| lines.iter().position(|line| line == "two");
        assert_eq!(lines.wait(Duration::ZERO, is_two), Some(1));
        let is_three = |lines: &[String]| lines.iter().position(|line| line == "three");
        // Not after an hour: the stream has ended.
        assert_eq!(lines.wait(Duration::from_secs(3_600), is_three), None);
    }

    #[test]
    fn a_line_that_comes_later_ends_the_wait() {
        let lines = Lines::default();
        let (reader, mut writer) = std::io::pipe().unwrap();
        let thread = lines.read_from(reader);
        std::io::Write::write_all(&mut writer, b"late\n").unwrap();
        let found = lines.wait(Duration::from_secs(10), |lines| lines.first().cloned());
        assert_eq!(found.as_deref(), Some("late"));
        drop(writer);
        thread.join().unwrap();
    }
}
