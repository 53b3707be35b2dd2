//! Which processors the broker and whoever is measured run on: one each, so that neither takes the other's time.
//!
//! A process stays where the thread was that started it. Nothing here knows what is started.

use crate::sys::process::{processors, stay_on};

/// Where things run.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    all: Vec<usize>,
    /// One for the broker and this program, another one for whoever is measured; `None`: wherever the system puts them.
    apart: Option<(usize, usize)>,
}

impl Cores {
    /// All that this thread may run on. Called before any of the below, which narrow that down.
    pub(crate) fn of_machine() -> Self {
        let all = processors();
        let apart = if let [broker, .., consumer] = all.as_slice() { Some((*broker, *consumer)) } else { None };
        Self { all, apart }
    }

    /// The same processors, with nothing kept on any of them.
    pub(crate) fn free(&self) -> Self {
        Self { all: self.all.clone(), apart: None }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Goes where the broker has to be, with all that is started from now on.
    pub(crate) fn settle(&self) {
        match self.apart {
            Some((broker, _)) => go_to(&[broker]),
            None => go_to(&self.all),
        }
    }

    /// Starts something that is measured.
    pub(crate) fn measured<T>(&self, start: impl FnOnce() -> T) -> T {
        if let Some((_, consumer)) = self.apart {
            go_to(&[consumer]);
        }
        let started = start();
        self.settle();
        started
    }

    /// Does something that nobody measures.
    pub(crate) fn anywhere<T>(&self, act: impl FnOnce() -> T) -> T {
        go_to(&self.all);
        let done = act();
        self.settle();
        done
    }

    /// How it is told.
    pub(crate) fn told(&self) -> String {
        match self.apart {
            Some((broker, consumer)) => format!("broker on core {broker}, consumer on core {consumer}"),
            None => "no process kept on a core".to_owned(),
        }
    }
}

fn go_to(processors: &[usize]) {
    assert!(stay_on(processors), "cannot stay on processors {processors:?}");
}
