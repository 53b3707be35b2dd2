//! Catches panics of the host's own code around a guest, and lets a panic hook know which ones are caught.
//!
//! A hook that ends the process for every panic but these leaves no thread dead in a process that looks alive. Nothing here
//! knows what runs.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static CATCHES: Cell<bool> = const { Cell::new(false) };
}

/// True while a panic of this thread is caught and becomes an answer: the thread goes on, and so may the process. For panic
/// hooks, which run on the thread that panics.
#[must_use]
pub fn catches_panics() -> bool {
    CATCHES.get()
}

/// Runs something that may panic. What it used must not be used again when it did.
pub(crate) fn catch<T>(run: impl FnOnce() -> T) -> std::thread::Result<T> {
    let before = CATCHES.replace(true);
    let ran = catch_unwind(AssertUnwindSafe(run));
    CATCHES.set(before);
    ran
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_caught_is_said_to_be_caught() {
        assert!(!catches_panics());
        assert!(catch(catches_panics).unwrap());
        assert!(!catches_panics());
        assert!(catch(|| (catch(|| panic!("caught, as the test wants")).is_err(), catches_panics())).unwrap().1);
        assert!(!catches_panics(), "after a panic");
    }

    #[test]
    fn other_threads_are_not_covered() {
        let other = || std::thread::spawn(catches_panics).join().unwrap();
        assert!(!catch(other).unwrap());
    }
}
