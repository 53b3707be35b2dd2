//! The workers of one host: as many threads that run guests as batches may be with the plugin at once.
//!
//! It decides nothing: whoever hands over sees to it that there is a worker for each job.

use std::collections::HashMap;
use std::num::NonZeroU32;

use gristmill_core::io::DeliveryId;

use crate::error::{DeliverError, SpawnError};
use crate::worker::{Answered, Job, Worker, WorkerSettings};

/// Workers, and which of them works on what. Dropping it ends them, as [`Worker`] says.
pub struct Crew {
    workers: Vec<Worker>,
    at_work: HashMap<DeliveryId, usize>,
}

impl Crew {
    /// Starts workers. `sink` makes what each of them answers to, on its own thread.
    ///
    /// # Errors
    ///
    /// As [`Worker::spawn`].
    pub fn spawn<S>(workers: NonZeroU32, sink: impl Fn() -> S) -> Result<Self, SpawnError>
    where
        S: FnMut(Answered) + Send + 'static,
    {
        let spawn = |number| Worker::spawn(WorkerSettings { name: format!("guest-{number}") }, sink());
        Ok(Self { workers: (1..=workers.get()).map(spawn).collect::<Result<_, _>>()?, at_work: HashMap::new() })
    }

    /// Hands a job to the first worker that is free.
    ///
    /// # Errors
    ///
    /// As [`Worker::deliver`]; the job of a crew without a free worker waits for the first.
    pub fn deliver(&mut self, job: Job) -> Result<(), DeliverError> {
        let (delivery, at_work) = (job.delivery, &self.at_work);
        let free = (0..self.workers.len()).find(|worker| !at_work.values().any(|at_work| at_work == worker));
        let worker = free.unwrap_or(0);
        self.workers[worker].deliver(job)?;
        self.at_work.insert(delivery, worker);
        Ok(())
    }

    /// Asks a hand-over to end, as [`Worker::cancel`] does.
    pub fn cancel(&self, delivery: DeliveryId) {
        if let Some(worker) = self.at_work.get(&delivery) {
            self.workers[*worker].cancel(delivery);
        }
    }

    /// Notes that a hand-over has its answer: its worker is free.
    pub fn answered(&mut self, delivery: DeliveryId) {
        self.at_work.remove(&delivery);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // All at once, so that they are waited for together.
        self.workers.iter_mut().for_each(Worker::begin_to_end);
    }
}
