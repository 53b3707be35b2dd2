//! What each event does: the broker's and the coordinator's side, and the edge's side.

use gristmill_core::io::{Input, RequestError, RequestId, SeekTo};
use gristmill_core::record::Partition;
use gristmill_core::time::Moment;

use crate::broker::TOO_LARGE;
use crate::fault::Fault;
use crate::group::GroupNews;
use crate::member::Member;
use crate::names::{Life, Place, Violation, partition, place};
use crate::world::{Event, Fate, ToBroker, World};

impl World {
    /// Lets one event happen.
    pub(crate) fn happen(&mut self, event: Event) -> Result<(), Violation> {
        if let Some(life) = life_of(&event)
            && let Some(member) = self.members.get_mut(&life)
            && let Some(frozen) = &mut member.frozen
        {
            frozen.push_back(event);
            return Ok(());
        }
        match event {
            Event::Append { place, records } => self.append(place, records),
            Event::Start { slot } => self.start(slot),
            Event::Inbox(life) => {
                let input = self.members.get_mut(&life).and_then(|member| member.edge.inbox.pop_front());
                return input.map_or(Ok(()), |input| self.feed_and_end(life, input));
            }
            Event::Feed(life, input) => return self.feed_and_end(life, input),
            Event::Tick(life, due) => {
                if self.members.get(&life).is_some_and(|member| member.tick == Some(due)) {
                    return self.feed_and_end(life, Input::Tick);
                }
            }
            Event::Fetch(life) => self.fetch(life),
            Event::Seek { life, id, targets } => self.seek(life, id, &targets),
            Event::ToBroker(life, request) => return self.arrive(life, request),
            Event::Written { life, id, writing } => return self.written(life, id, writing),
            Event::News(life, news) => self.news(life, news),
            Event::RoundDeadline(round) => {
                for life in self.group.late(round) {
                    self.evict(life);
                }
            }
            Event::GuestDone(life, id) => {
                if let Some(input) = self.guest_done(life, id) {
                    self.answer(life, 0, input);
                }
            }
            Event::Silent(life) => self.silent(life),
            Event::CloseRevoke(life, id) => {
                let open = self.members.get(&life).is_some_and(|member| member.edge.revokes.contains_key(&id));
                if open {
                    self.send(life, ToBroker::Leave);
                }
            }
            Event::Thaw(life) => {
                let waiting = self.members.get_mut(&life).and_then(|member| member.frozen.take());
                waiting.into_iter().flatten().for_each(|event| self.at(self.now, event));
            }
            Event::Operate => return self.operate(),
            Event::Heal => return self.heal(),
            Event::Mend => return self.mend(),
        }
        Ok(())
    }

    fn feed_and_end(&mut self, life: Life, input: Input<crate::names::Body>) -> Result<(), Violation> {
        self.feed(life, input)?;
        if let Some(reason) = self.members.get_mut(&life).and_then(|member| member.stopped.take()) {
            self.ended(life, &reason)?;
        }
        Ok(())
    }

    fn start(&mut self, slot: usize) {
        if self.slots[slot].is_some() || self.stopping {
            return;
        }
        self.lives += 1;
        let life = Life(self.lives);
        let member = Member::new(&self.scenario.policy, self.plugin, self.bug);
        self.members.insert(life, member);
        self.slots[slot] = Some(life);
        self.send(life, ToBroker::Join);
    }

    fn append(&mut self, place: Place, records: u64) {
        for _ in 0..records {
            let gap = if self.scenario.has(Fault::Gaps) && self.broker_chance.permille(300) {
                i64::try_from(self.broker_chance.between(1, 5)).expect("small")
            } else {
                0
            };
            // Never two in a row: where there is a limit for those, the host would end over them for ever.
            let may_be_bad = self.broker.logs[place].entries.last().is_none_or(|entry| !entry.is_bad());
            let rate = self.scenario.rate;
            let too_large = self.scenario.has(Fault::RecordTooLarge) && may_be_bad && self.broker_chance.permille(5);
            let bytes = if too_large { TOO_LARGE } else { self.broker_chance.between(20, 170) };
            let undecodable =
                self.scenario.has(Fault::Undecodable) && may_be_bad && !too_large && self.broker_chance.permille(rate);
            let log = &mut self.broker.logs[place];
            log.append(gap, bytes, undecodable);
            let offset = log.high - 1;
            self.guests.meet(&self.scenario, place, offset);
        }
        // A marker at the end of the log: the end is not the last record + 1.
        if self.scenario.has(Fault::Gaps) && self.broker_chance.permille(200) {
            self.broker.logs[place].high += 1;
        }
        for life in self.living() {
            self.arm(life);
        }
    }

    /// Makes the edge read, unless it is about to.
    pub(crate) fn arm(&mut self, life: Life) {
        let while_revoking = self.scenario.has(Fault::ReadWhileRevoking);
        let Some(member) = self.members.get_mut(&life) else { return };
        if member.edge.fetching || member.edge.readable(&self.broker, while_revoking).is_empty() {
            return;
        }
        member.edge.fetching = true;
        let wait = self.delay.between(200, 20_000);
        self.after(wait, Event::Fetch(life));
    }

    fn fetch(&mut self, life: Life) {
        let while_revoking = self.scenario.has(Fault::ReadWhileRevoking);
        let unreadable = self.strikes(Fault::Unreadable) && self.edge_chance.permille(100);
        let again = self.strikes(Fault::Duplicates);
        let Some(member) = self.members.get_mut(&life) else { return };
        member.edge.fetching = false;
        if again {
            member.edge.repeat(&mut self.edge_chance);
        }
        let mut places = member.edge.readable(&self.broker, while_revoking);
        let troubled: Vec<Place> =
            places.iter().copied().filter(|&place| member.edge.is_out_of_range(place, &self.broker)).collect();
        places.retain(|place| !troubled.contains(place));
        let told: Vec<_> =
            troubled.iter().filter_map(|&place| member.edge.trouble(place, &self.broker, false)).collect();
        for input in told {
            self.queue(life, input, false);
        }
        let Some(member) = self.members.get_mut(&life) else { return };
        if unreadable && let Some(place) = places.pop() {
            if let Some(input) = member.edge.trouble(place, &self.broker, true) {
                self.queue(life, input, false);
            }
        } else if !places.is_empty() && member.edge.inbox.len() < 40 {
            let passed: Vec<_> = places.iter().filter_map(|&place| member.edge.pass(place, &self.broker)).collect();
            let mut records = Vec::new();
            for _ in 0..self.edge_chance.between(1, 12) {
                let place = self.edge_chance.pick(&places);
                records.extend(member.edge.read(place, &self.broker));
            }
            passed.into_iter().for_each(|input| self.queue(life, input, false));
            if !records.is_empty() {
                self.queue(life, Input::Fetched(records), false);
            }
        }
        self.arm(life);
    }

    fn seek(&mut self, life: Life, id: RequestId, targets: &[SeekTo]) {
        let fails = self.strikes(Fault::SeekFails);
        let lies = self.strikes(Fault::SeekFailsApplied);
        let unlucky = self.edge_chance.index(targets.len().max(1));
        let error = self.edge_chance.pick(&[RequestError::Temporary, RequestError::Unknown]);
        let Some(member) = self.members.get_mut(&life) else { return };
        let mut turn = 0;
        let input = member.edge.seek_all(id, targets, || {
            turn += 1;
            ((fails || lies) && turn == unlucky + 1).then_some((error, lies))
        });
        self.queue(life, input, false);
        self.arm(life);
    }

    /// Puts an input on the one ordered way from the edge to the machine.
    fn queue(&mut self, life: Life, input: Input<crate::names::Body>, before_records: bool) {
        let Some(member) = self.members.get_mut(&life) else { return };
        if before_records {
            member.edge.send_before_records(input);
        } else {
            member.edge.send(input);
        }
        self.plan_inbox(life);
    }

    pub(crate) fn plan_inbox(&mut self, life: Life) {
        let wait = self.travel();
        let now = self.now;
        let Some(member) = self.members.get_mut(&life) else { return };
        member.inbox_ready = member.inbox_ready.max(now + wait);
        let at = member.inbox_ready;
        self.at(at, Event::Inbox(life));
    }

    /// Something reaches the coordinator.
    fn arrive(&mut self, life: Life, request: ToBroker) -> Result<(), Violation> {
        match request {
            ToBroker::Join => {
                if self.members.contains_key(&life) {
                    let news = self.group.join(life, &mut self.group_chance);
                    self.spread(news);
                }
            }
            ToBroker::Commit { id, offsets, fate } => {
                let member = self.group.has(life);
                if fate.stored && member {
                    for offset in &offsets {
                        let here = place(offset.partition);
                        let holder = self.group.holder[here];
                        let log = &self.broker.logs[here];
                        self.ledger.committed(here, log, offset.next.0, life, holder)?;
                        self.broker.committed[here] = Some(offset.next.0);
                    }
                    self.trace.say(self.now, || format!("{life:?} commit {} is stored", id.0));
                }
                if !fate.early {
                    self.answer_commit(life, id, fate, member);
                }
            }
            ToBroker::Lookup { id, partitions } => self.answer_lookup(life, id, &partitions),
            ToBroker::Revoked(places) => {
                let news = self.group.acknowledge(life, &places, &mut self.group_chance);
                self.spread(news);
            }
            ToBroker::Leave => {
                let news = self.group.remove(life, &mut self.group_chance);
                self.spread(news);
                let wait = self.travel();
                self.answer(life, wait, Input::Left);
            }
        }
        Ok(())
    }

    fn answer_commit(&mut self, life: Life, id: RequestId, fate: Fate, member: bool) {
        let result = if member { fate.result } else { Err(RequestError::NotOurs) };
        let wait = self.travel();
        self.answer(life, wait, Input::CommitEnded { id, result });
        if member && result == Err(RequestError::NotOurs) {
            self.evict(life);
        }
    }

    fn answer_lookup(&mut self, life: Life, id: RequestId, partitions: &[Partition]) {
        let error = self.broker_chance.pick(&[RequestError::Temporary, RequestError::Unknown]);
        let result = if self.strikes(Fault::LookupFails) {
            Err(error)
        } else if !self.group.has(life) && self.broker_chance.permille(500) {
            Err(RequestError::NotOurs)
        } else {
            let known =
                |&at: &Partition| (at, self.broker.committed[place(at)].map(gristmill_core::record::NextOffset));
            Ok(partitions.iter().map(known).collect())
        };
        let wait = self.travel();
        self.answer(life, wait, Input::CommittedKnown { id, result });
    }

    /// Puts a member out of the group; it learns of it later.
    pub(crate) fn evict(&mut self, life: Life) {
        if !self.group.has(life) {
            return;
        }
        self.trace.say(self.now, || format!("{life:?} is put out of the group"));
        let mut news = vec![(life, GroupNews::Evicted)];
        news.extend(self.group.remove(life, &mut self.group_chance));
        self.spread(news);
    }

    /// The coordinator did not hear of a life for too long.
    fn silent(&mut self, life: Life) {
        let quiet = self.members.get(&life).is_none_or(|member| member.frozen.is_some());
        if quiet {
            self.evict(life);
        }
    }

    /// Sends news to members, each over its own ordered way.
    pub(crate) fn spread(&mut self, news: Vec<(Life, GroupNews)>) {
        let revokes = news.iter().any(|(_, news)| matches!(news, GroupNews::Revoke(_)));
        for (life, news) in news {
            let wait = self.travel();
            let now = self.now;
            let Some(member) = self.members.get_mut(&life) else { continue };
            member.news_ready = member.news_ready.max(now + wait);
            let at = member.news_ready;
            self.at(at, Event::News(life, news));
        }
        if revokes {
            let round = self.group.round;
            self.after(8_000_000, Event::RoundDeadline(round));
        }
    }

    /// Something from the coordinator reaches a member's edge.
    fn news(&mut self, life: Life, news: GroupNews) {
        let late = self.strikes(Fault::RecordsAfterRevoke);
        let again = self.strikes(Fault::Duplicates);
        let deadline = Moment(self.now + self.delay.between(200_000, 3_000_000));
        let Some(member) = self.members.get_mut(&life) else { return };
        if member.edge.leaving {
            // A client that closes answers for itself.
            if let GroupNews::Revoke(places) = news {
                self.send(life, ToBroker::Revoked(places));
            }
            return;
        }
        match news {
            GroupNews::Revoke(places) => {
                let id = member.edge.revoke(places.clone());
                let partitions = places.into_iter().map(partition).collect();
                self.queue(life, Input::Revoking { id, partitions, deadline }, late);
            }
            GroupNews::Assign(places) => {
                let (input, resets) = member.edge.assign(&places, &self.broker, self.scenario.reset);
                for (place, start) in resets {
                    self.ledger.started(place, start);
                }
                self.queue(life, input, false);
            }
            GroupNews::Evicted => {
                if let Some(input) = member.edge.lose() {
                    self.queue(life, input, late);
                }
                self.send(life, ToBroker::Join);
            }
        }
        if again && let Some(member) = self.members.get_mut(&life) {
            member.edge.repeat(&mut self.edge_chance);
        }
        self.arm(life);
    }

    /// All lives that are not over.
    pub(crate) fn living(&self) -> Vec<Life> {
        self.members.keys().copied().collect()
    }
}

/// Events that happen inside a process, and wait while it stands still.
fn life_of(event: &Event) -> Option<Life> {
    match event {
        Event::Inbox(life)
        | Event::Feed(life, _)
        | Event::Tick(life, _)
        | Event::Fetch(life)
        | Event::Seek { life, .. }
        | Event::News(life, _)
        | Event::GuestDone(life, _)
        | Event::CloseRevoke(life, _) => Some(*life),
        Event::Append { .. }
        | Event::Start { .. }
        | Event::ToBroker(..)
        | Event::Written { .. }
        | Event::RoundDeadline(_)
        | Event::Silent(_)
        | Event::Thaw(_)
        | Event::Operate
        | Event::Heal
        | Event::Mend => None,
    }
}
