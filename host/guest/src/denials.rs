//! Tells what a plugin was denied: each thing once, and again every minute while it goes on. A guest may ask for a new thing with
//! every call, so the number of lines is bounded as well.
//!
//! It decides nothing about what is denied.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long one thing is not told again.
const QUIET: Duration = Duration::from_mins(1);

/// Different things that are told within that time.
const TOLD_MAX: usize = 10;

/// What one loaded plugin was denied.
#[derive(Debug)]
pub(crate) struct Denials {
    plugin: Arc<str>,
    book: Mutex<Book>,
}

impl Denials {
    /// Nothing denied yet.
    pub(crate) fn new(plugin: Arc<str>) -> Self {
        Self { plugin, book: Mutex::default() }
    }

    /// Takes note of a denial, and tells it where it is time to.
    pub(crate) fn note(&self, denied: &str) {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        match book.note(denied, Instant::now()) {
            Tell::Nothing => {}
            Tell::This { times } => tracing::warn!(plugin = %self.plugin, %denied, times, "plugin was denied"),
            Tell::More => tracing::warn!(plugin = %self.plugin, "plugin was denied more things than are told"),
        }
    }
}

/// What is to be told now.
#[derive(Debug, PartialEq, Eq)]
enum Tell {
    Nothing,
    /// This one, which happened so often since it was last told.
    This {
        times: u64,
    },
    /// That there are others, too many to be told.
    More,
}

#[derive(Debug, Default)]
struct Book {
    began: Option<Instant>,
    /// How often each thing was denied since it was told in this window.
    known: HashMap<String, u64>,
    /// True once it was told that there are others.
    others: bool,
}

impl Book {
    fn note(&mut self, denied: &str, now: Instant) -> Tell {
        if self.began.is_none_or(|began| now.saturating_duration_since(began) >= QUIET) {
            return self.renew(denied, now);
        }
        if let Some(times) = self.known.get_mut(denied) {
            *times += 1;
            return Tell::Nothing;
        }
        if self.known.len() < TOLD_MAX {
            self.known.insert(denied.to_owned(), 0);
            return Tell::This { times: 1 };
        }
        if std::mem::replace(&mut self.others, true) { Tell::Nothing } else { Tell::More }
    }

    /// Begins a new window with this denial, which is told with how often it happened since it was told last.
    fn renew(&mut self, denied: &str, now: Instant) -> Tell {
        let before = std::mem::take(self);
        self.began = Some(now);
        self.known.insert(denied.to_owned(), 0);
        Tell::This { times: 1 + before.known.get(denied).copied().unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_told_once_and_after_a_minute_with_how_often_it_happened() {
        let (began, mut book) = (Instant::now(), Book::default());
        assert_eq!(book.note("a", began), Tell::This { times: 1 });
        for _ in 0..5 {
            assert_eq!(book.note("a", began), Tell::Nothing);
        }
        assert_eq!(book.note("a", began + QUIET), Tell::This { times: 6 });
        assert_eq!(book.note("a", began + QUIET), Tell::Nothing);
    }

    #[test]
    fn a_guest_that_asks_for_something_new_each_time_fills_no_log() {
        let (began, mut book) = (Instant::now(), Book::default());
        let told = (0..1_000).filter(|at| book.note(&at.to_string(), began) != Tell::Nothing).count();
        assert_eq!(told, TOLD_MAX + 1);
    }
}
