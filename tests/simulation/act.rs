//! Carries out what a machine wants: each action goes to its edge, with the delays and mishaps of that edge.

use gristmill_core::io::{
    Action, CommitOffset, Delivery, DeliveryId, Input, LetterClass, ProduceError, Production, RequestError, RequestId,
    RevokeId,
};
use gristmill_core::outcome::{Answer, Outcome};

use crate::fault::Fault;
use crate::member::Running;
use crate::names::{Body, Life, Violation, partition, place, require};
use crate::world::{Event, Fate, ToBroker, World, Writing};

impl World {
    /// Carries one action out.
    pub(crate) fn carry_out(&mut self, life: Life, action: Action<Body>) {
        match action {
            Action::Deliver(delivery) => self.start_guest(life, &delivery),
            Action::Cancel(id) => self.cancel_guest(life, id),
            Action::Produce(production) => self.write(life, production),
            Action::Commit { id, offsets, .. } => self.send_commit(life, id, offsets),
            Action::AskCommitted { id, partitions } => self.send(life, ToBroker::Lookup { id, partitions }),
            Action::Seek { id, targets } => {
                let wait = self.travel();
                self.after(wait, Event::Seek { life, id, targets });
            }
            Action::AnswerRevoke(id) => self.end_revoke(life, id),
            Action::Leave => self.leave(life),
            // The member is buried by whoever fed it.
            Action::Stopped(_) | Action::Report(_) => {}
        }
    }

    fn start_guest(&mut self, life: Life, delivery: &Delivery<Body>) {
        let plan = self.guests.plan(&self.scenario, self.healed, delivery);
        let records = delivery.records.iter().map(|record| (place(record.facts.partition), record.facts.offset.0));
        let records: Vec<_> = records.collect();
        for &(place, offset) in &records {
            self.ledger.handed(place, &self.broker.logs[place], offset);
        }
        let Some(member) = self.members.get_mut(&life) else { return };
        member.guests.insert(delivery.id, Running { answer: plan.answer, records, outputs: plan.outputs });
        self.after(plan.micros, Event::GuestDone(life, delivery.id));
    }

    fn cancel_guest(&mut self, life: Life, id: DeliveryId) {
        let Some(member) = self.members.get_mut(&life) else { return };
        let Some(running) = member.guests.get_mut(&id) else { return };
        let plan = self.guests.cancelled(&self.scenario, &running.answer);
        running.answer = plan.answer;
        self.after(plan.micros, Event::GuestDone(life, id));
    }

    /// A guest is done, or gave up: its work is done whatever becomes of the answer.
    pub(crate) fn guest_done(&mut self, life: Life, id: DeliveryId) -> Option<Input<Body>> {
        let member = self.members.get_mut(&life)?;
        let Running { answer, records, outputs } = member.guests.remove(&id)?;
        let (done, rejected) = match &answer {
            Answer::Outcome(Outcome::Ok(effects)) => (records.len(), effects.rejected.as_slice()),
            Answer::Outcome(Outcome::Retryable { completed: Some(progress), .. }) => {
                (progress.records as usize, progress.effects.rejected.as_slice())
            }
            _ => (0, [].as_slice()),
        };
        for (index, (place, offset)) in records.into_iter().take(done).enumerate() {
            if !rejected.iter().any(|rejection| rejection.index as usize == index) {
                let needs_output = outputs.contains(&(place, offset));
                self.ledger.done(place, &self.broker.logs[place], offset, needs_output);
            }
        }
        member.outputs.insert(id, outputs);
        Some(Input::Answered { delivery: id, answer })
    }

    /// Sends what has to be written to the brokers.
    fn write(&mut self, life: Life, production: Production<Body>) {
        let letters = production.letters.iter().map(|letter| {
            let facts = &letter.record.facts;
            (place(facts.partition), facts.offset.0, letter.verdict.class)
        });
        let letters = letters.collect();
        let Some(member) = self.members.get_mut(&life) else { return };
        let outputs = production.emitted_of.and_then(|delivery| member.outputs.remove(&delivery)).unwrap_or_default();
        let (stored, result) = match self.write_script.pop_front() {
            Some(scripted) => scripted,
            None => self.draw_writing(),
        };
        let wait = self.travel() * 2;
        let id = production.id;
        self.after(wait, Event::Written { life, id, writing: Writing { letters, outputs, stored, result } });
    }

    fn draw_writing(&mut self) -> (bool, Result<(), ProduceError>) {
        let temporary = || Err(ProduceError::Temporary("no leader".to_owned()));
        if self.strikes(Fault::ProduceTemporary) {
            return (false, temporary());
        }
        if self.strikes(Fault::ProduceTemporaryApplied) {
            return (true, temporary());
        }
        if self.strikes(Fault::ProduceRefused) && self.edge_chance.permille(200) {
            return (false, Err(ProduceError::Refused("not authorised".to_owned())));
        }
        (true, Ok(()))
    }

    /// The brokers have what a member wrote, or have not.
    pub(crate) fn written(&mut self, life: Life, id: RequestId, writing: Writing) -> Result<(), Violation> {
        let Writing { letters, outputs, stored, result } = writing;
        if stored {
            for (place, offset, class) in letters {
                let blamed = matches!(class, LetterClass::Fault(_) | LetterClass::Retries);
                let alone = self.scenario.policy.fault.isolate;
                let bad = !blamed || !alone || self.guests.was_bad(place, offset);
                require!(bad, "D1", "{life:?} puts {place}:{offset} aside as {class:?}, which gives no trouble");
                self.ledger.lettered(place, &self.broker.logs[place], offset);
            }
            for (place, offset) in outputs {
                self.ledger.output(place, &self.broker.logs[place], offset)?;
            }
        }
        let wait = self.travel();
        self.answer(life, wait, Input::Produced { id, result });
        Ok(())
    }

    /// Sends something over the member's one connection to the coordinator: in order.
    pub(crate) fn send(&mut self, life: Life, request: ToBroker) {
        let wait = self.travel();
        let now = self.now;
        let Some(member) = self.members.get_mut(&life) else { return };
        member.link_ready = member.link_ready.max(now + wait);
        let at = member.link_ready;
        self.at(at, Event::ToBroker(life, request));
    }

    /// The edge sends nothing for an older assignment.
    fn send_commit(&mut self, life: Life, id: RequestId, mut offsets: Vec<CommitOffset>) {
        let Some(member) = self.members.get(&life) else { return };
        let readings = &member.edge.readings;
        offsets.retain(|offset| {
            readings.get(&place(offset.partition)).is_some_and(|reading| offset.epoch >= reading.assigned)
        });
        if offsets.is_empty() {
            let wait = self.travel();
            return self.answer(life, wait, Input::CommitEnded { id, result: Err(RequestError::NotOurs) });
        }
        let fate = match self.commit_script.pop_front() {
            Some(fate) => fate,
            None => self.draw_fate(),
        };
        self.send(life, ToBroker::Commit { id, offsets, fate });
        if fate.early {
            let wait = self.travel();
            self.answer(life, wait, Input::CommitEnded { id, result: fate.result });
        }
    }

    fn draw_fate(&mut self) -> Fate {
        let good = Fate { stored: true, result: Ok(()), early: false };
        if self.healed {
            return good;
        }
        let temporary = Err(RequestError::Temporary);
        if self.now < self.outage_until {
            return Fate { stored: false, result: temporary, early: false };
        }
        let fates = [
            (Fault::CommitTemporary, false, temporary),
            (Fault::CommitTemporaryApplied, true, temporary),
            (Fault::CommitUnknown, false, Err(RequestError::Unknown)),
            (Fault::CommitUnknownApplied, true, Err(RequestError::Unknown)),
            (Fault::CommitNotOurs, false, Err(RequestError::NotOurs)),
            (Fault::CommitRefused, false, Err(RequestError::Refused)),
        ];
        let existing: Vec<_> = fates.into_iter().filter(|(fault, _, _)| self.scenario.has(*fault)).collect();
        if existing.is_empty() {
            return good;
        }
        let (fault, stored, result) = self.broker_chance.pick(&existing);
        let rare = match fault {
            Fault::CommitNotOurs | Fault::CommitRefused => 5,
            _ => 1,
        };
        if !self.broker_chance.permille(self.scenario.rate / rare) {
            return good;
        }
        let unknown = result == Err(RequestError::Unknown);
        Fate { stored, result, early: unknown && self.broker_chance.permille(500) }
    }

    /// Answers a request, and sometimes answers it again.
    pub(crate) fn answer(&mut self, life: Life, wait: u64, input: Input<Body>) {
        if let Some(copy) = repeated(&input)
            && self.strikes(Fault::RepeatedInput)
        {
            let later = wait + self.delay.between(1, 500_000);
            self.after(later, Event::Feed(life, copy));
        }
        self.after(wait, Event::Feed(life, input));
    }

    fn end_revoke(&mut self, life: Life, id: RevokeId) {
        let Some(member) = self.members.get_mut(&life) else { return };
        let leaving = member.edge.leaving;
        let Some(places) = member.edge.answer_revoke(id) else { return };
        self.send(life, if leaving { ToBroker::Leave } else { ToBroker::Revoked(places) });
    }

    fn leave(&mut self, life: Life) {
        let by_callback = self.strikes(Fault::RevokeWhileLeaving);
        let now = self.now;
        let Some(member) = self.members.get_mut(&life) else { return };
        member.edge.leaving = true;
        let owned: Vec<_> = member.edge.readings.keys().copied().collect();
        if !by_callback || owned.is_empty() || !member.edge.revokes.is_empty() {
            return self.send(life, ToBroker::Leave);
        }
        let id = member.edge.revoke(owned.clone());
        let partitions = owned.into_iter().map(partition).collect();
        let deadline = gristmill_core::time::Moment(now + 3_000_000);
        member.edge.send(Input::Revoking { id, partitions, deadline });
        self.plan_inbox(life);
        self.after(4_000_000, Event::CloseRevoke(life, id));
    }
}

/// A copy of an input that may come twice without harm.
fn repeated(input: &Input<Body>) -> Option<Input<Body>> {
    match input {
        Input::Answered { delivery, answer } => Some(Input::Answered { delivery: *delivery, answer: answer.clone() }),
        Input::CommitEnded { id, result } => Some(Input::CommitEnded { id: *id, result: *result }),
        Input::Produced { id, result } => Some(Input::Produced { id: *id, result: result.clone() }),
        Input::CommittedKnown { id, result } => Some(Input::CommittedKnown { id: *id, result: result.clone() }),
        Input::Sought { id, results } => Some(Input::Sought { id: *id, results: results.clone() }),
        Input::Lost(partitions) => Some(Input::Lost(partitions.clone())),
        _ => None,
    }
}
