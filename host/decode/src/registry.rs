//! Schemas by id, from a registry that speaks Confluent's interface.
//!
//! | file | what it does |
//! | --- | --- |
//! | `settings` | what an operator says about the registry |
//! | `client`, `tls` | one request: no redirects, no proxies, so many bytes, so much time |
//! | `site` | where it is, and what must not be told of it |
//! | `answer` | what an answer means |
//! | `closure` | a schema with all that it refers to, within bounds, and its compilation |
//! | `shelf` | what is known about ids, and which are known to be unknown |
//! | `outage` | when the registry is asked again after it failed |
//!
//! This file makes one question at a time of it for each id, whoever asks. Nobody here knows data.

mod answer;
mod client;
mod closure;
mod outage;
mod settings;
mod shelf;
mod site;
mod tls;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use self::answer::Fault;
use self::client::Client;
use self::outage::Outage;
use self::shelf::{Shelf, Standing};
use crate::contain::contained;
use crate::failure::{Failure, Reason};
use crate::wire::SchemaId;

pub(crate) use closure::Schema;
pub use settings::{RegistryAuth, RegistryError, RegistrySettings, Secret};

/// Why a registry is of no use now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReachError {
    /// It does not answer, or not as a registry does.
    #[error("{0}")]
    Unavailable(Reason),
    /// It does not take us for somebody who may ask.
    #[error("{0}")]
    Refused(Reason),
}

/// A registry, with the schemas that were fetched from it. Threads and decoders share it.
#[derive(Debug)]
pub struct Registry {
    client: Client,
    settings: RegistrySettings,
    state: Mutex<State>,
    /// Told of whenever a question was answered.
    answered: Condvar,
}

#[derive(Debug)]
struct State {
    shelf: Shelf,
    outage: Outage,
}

/// What to do about an id, decided under the lock.
enum Step {
    Done(Result<Arc<Schema>, Failure>),
    /// Somebody asks at the moment, or it was asked too recently: to be looked at again, at the latest then.
    Wait(Duration),
    Ask,
}

/// How long a look at somebody else's question takes at most until the next one. They tell us; this is for the case that they cannot.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Registry {
    /// Prepares a client. The registry is not asked yet.
    ///
    /// # Errors
    /// A URL that is none, or certificates that cannot be used.
    pub fn new(settings: RegistrySettings) -> Result<Self, RegistryError> {
        let client = Client::new(&settings)?;
        let shelf = Shelf::new(settings.schemas_max, settings.schemas_bytes_max);
        let state = Mutex::new(State { shelf, outage: Outage::default() });
        Ok(Self { client, settings, state, answered: Condvar::new() })
    }

    /// Asks whether it is there and takes us for who we are, whatever schemas it has. Waits as long as one request may take.
    ///
    /// # Errors
    /// What it does instead of answering as a registry does.
    pub fn reach(&self) -> Result<(), ReachError> {
        // Whether it has a schema of this id does not matter: it says so in its own words either way.
        match self.client.schema(SchemaId(1), self.settings.request_time_max) {
            Ok(_) | Err(Fault::Missing(_) | Fault::Unusable(_)) => Ok(()),
            Err(Fault::Unavailable { reason, refused: true, .. }) => Err(ReachError::Refused(reason)),
            Err(Fault::Unavailable { reason, refused: false, .. }) => Err(ReachError::Unavailable(reason)),
        }
    }

    /// Lets the next question be asked at once, whatever pause was being made: somebody knows that the registry is back.
    pub fn ask_anew(&self) {
        self.state().outage.end();
    }

    /// The schema with that id, from the shelf or from the registry.
    ///
    /// # Errors
    /// An id that the registry does not know, judged by an answer that was asked for after `read_at`; a schema that cannot be used;
    /// a registry that cannot be asked.
    pub(crate) fn schema(&self, id: SchemaId, read_at: Instant) -> Result<Arc<Schema>, Failure> {
        let mut state = self.state();
        loop {
            match step(&mut state, id, read_at, Instant::now()) {
                Step::Done(result) => return result,
                Step::Wait(time) => {
                    let waited = self.answered.wait_timeout(state, time);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Step::Ask => {
                    let asked_at = Instant::now();
                    state.shelf.begin(id);
                    // While a registry is in doubt one question is enough to find out.
                    state.outage.begin(asked_at, self.settings.answer_time_max);
                    drop(state);
                    let answer = self.ask(id);
                    state = self.state();
                    let result = conclude(&mut state, id, asked_at, answer);
                    self.answered.notify_all();
                    return result;
                }
            }
        }
    }

    fn ask(&self, id: SchemaId) -> Result<closure::Fetched, Fault> {
        let broken = || Err(Fault::Unusable(Reason::new("it breaks the parser")));
        let fetched = contained(|| closure::fetch(&self.client, id, &self.settings)).unwrap_or_else(broken);
        fetched.map_err(|fault| fault.blotted(self.client.site()))
    }

    /// The state. No thread leaves it half changed, whatever it broke on.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What to do about an id.
fn step(state: &mut State, id: SchemaId, read_at: Instant, now: Instant) -> Step {
    match state.shelf.standing(id, read_at, now) {
        Standing::Known(schema) => return Step::Done(Ok(schema)),
        Standing::Refused(reason) => return Step::Done(Err(Failure::Undecodable(reason))),
        Standing::Asked => return Step::Wait(LOOK_AGAIN),
        Standing::TooEarly(time) => return Step::Wait(time),
        Standing::Unknown => {}
    }
    if let Some((reason, again_in)) = state.outage.closed(now) {
        return Step::Done(Err(Failure::Unavailable { reason, again_in }));
    }
    if let Err(again_in) = state.shelf.make_room(now) {
        let reason = Reason::new("too many unknown schema ids at once");
        return Step::Done(Err(Failure::Unavailable { reason, again_in }));
    }
    Step::Ask
}

/// Notes an answer, and says what it means for the one who asked.
fn conclude(
    state: &mut State,
    id: SchemaId,
    asked_at: Instant,
    answer: Result<closure::Fetched, Fault>,
) -> Result<Arc<Schema>, Failure> {
    let named = |reason: Reason| Reason::new(format_args!("schema {}: {reason}", id.0));
    match answer {
        Ok(fetched) => {
            state.outage.end();
            let schema = Arc::new(fetched.schema);
            state.shelf.put(id, Arc::clone(&schema), fetched.bytes);
            Ok(schema)
        }
        Err(Fault::Missing(reason)) => {
            state.outage.end();
            let reason = named(reason);
            state.shelf.put_missing(id, reason.clone(), asked_at);
            Err(Failure::Undecodable(reason))
        }
        Err(Fault::Unusable(reason)) => {
            state.outage.end();
            let reason = named(reason);
            state.shelf.put_unusable(id, reason.clone(), Instant::now());
            Err(Failure::Undecodable(reason))
        }
        Err(Fault::Unavailable { reason, retry_after, .. }) => {
            state.shelf.forget(id);
            let reason = named(reason);
            let again_in = state.outage.fail(reason.clone(), retry_after, asked_at, Instant::now());
            Err(Failure::Unavailable { reason, again_in })
        }
    }
}
