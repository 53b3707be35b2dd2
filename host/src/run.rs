//! The run loop: whatever happens becomes an input of the machine, whatever the machine wants is carried out. The only
//! `select!` of the host is here, and nothing in this loop blocks.

use std::time::{Duration, Instant};

use gristmill_core::Machine;
use gristmill_core::io::{Input, StopReason};
use gristmill_core::time::Moment;
use gristmill_guest::Answered;
use gristmill_kafka::Event;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::act::Edges;
use crate::body::Body;
use crate::clock::Clock;
use crate::control::Request;
use crate::decoding::{News, Stage};
use crate::exit::Exit;
use crate::observe::Observer;
use crate::signals::Asked;
use crate::watchdog::Watchdog;
use crate::wishes::Granted;

/// How long leaving the group may take once somebody insists (S2).
const LEAVE_NOW_WAIT_MAX: Duration = Duration::from_millis(800);

/// Everything that can wake the loop.
pub(crate) struct Feeds {
    pub(crate) kafka: UnboundedReceiver<Event>,
    /// Where something is decoded: what comes out of it.
    pub(crate) decoded: Option<UnboundedReceiver<News>>,
    pub(crate) guest: UnboundedReceiver<Answered>,
    pub(crate) asks: UnboundedReceiver<Asked>,
}

/// One running pipeline.
pub(crate) struct Runner {
    pub(crate) machine: Machine<Body>,
    pub(crate) edges: Edges,
    /// Where something is decoded: what goes in.
    pub(crate) decoding: Option<Stage>,
    pub(crate) feeds: Feeds,
    pub(crate) observer: Observer,
    pub(crate) watchdog: Watchdog,
    pub(crate) clock: Clock,
    /// True once the observer's wish to end was passed on.
    pub(crate) ending: bool,
    /// Wishes that are answered once what follows from them has been carried out.
    pub(crate) granted: Vec<Granted>,
    /// Set once somebody insisted on the end: when the loop no longer waits for the Kafka client.
    pub(crate) leave_by: Option<Moment>,
}

/// What woke the loop.
enum Woken {
    Kafka(Event),
    Decoded(News),
    Guest(Answered),
    Asked(Asked),
    Time,
    /// An edge's thread is gone without a word: the host's own mistake.
    Deaf(&'static str),
}

impl Runner {
    /// Runs until the machine has ended; says how the process ends.
    pub(crate) async fn run(mut self) -> Exit {
        loop {
            self.watchdog.busy();
            let ended = self.carry_out();
            let refused = self.edges.writer.take_refused();
            if ended.is_none() && !refused.is_empty() {
                refused.into_iter().for_each(|(id, error)| self.take(Input::Produced { id, result: Err(error) }));
                continue;
            }
            self.answer_wishes();
            if let Some(reason) = ended {
                return self.end(&reason);
            }
            let now = self.clock.now();
            if self.observer.wants_to_end(now) && !self.ending {
                // The way out is the same as for everybody: leave, then end.
                self.ending = true;
                self.take(Input::StopNowAsked);
                continue;
            }
            if self.leave_by.is_some_and(|by| by <= now) {
                self.leave_by = None;
                self.handle(Woken::Kafka(Event::CloseTimedOut));
                continue;
            }
            let wakeups = [self.machine.next_wakeup(), self.observer.next_wakeup(), self.leave_by];
            let wakeup = wakeups.into_iter().flatten().min();
            self.watchdog.idle();
            let woken = self.feeds.next(wakeup.map(|moment| self.clock.instant(moment))).await;
            self.watchdog.busy();
            self.handle(woken);
        }
    }

    fn handle(&mut self, woken: Woken) {
        match woken {
            Woken::Kafka(Event::Input(input)) => match &self.decoding {
                Some(stage) if Stage::takes(&input) => stage.pass(input),
                Some(_) | None => self.take(input.with_bodies(Body::raw)),
            },
            Woken::Decoded(News::Input(input)) => self.take(input),
            Woken::Decoded(news) => self.observer.hear_of_schemas(self.clock.now(), &news),
            Woken::Kafka(Event::Produced { id, result }) => {
                if let Some(result) = self.edges.writer.ended(id, result) {
                    self.take(Input::Produced { id, result });
                }
            }
            Woken::Kafka(event @ Event::CloseTimedOut) => {
                self.observer.hear(self.clock.now(), &event, &self.edges.consumer);
                self.take(Input::Left);
            }
            Woken::Kafka(event) => self.observer.hear(self.clock.now(), &event, &self.edges.consumer),
            Woken::Guest(answered) => {
                self.observer.note_answer(&answered);
                self.edges.crew.answered(answered.delivery);
                self.edges.emitting.answered(answered.delivery, answered.emitted);
                self.take(Input::Answered { delivery: answered.delivery, answer: answered.answer });
            }
            Woken::Asked(asked) => self.heed(asked),
            Woken::Time => self.take(Input::Tick),
            Woken::Deaf(which) => {
                self.observer.ends_with(Exit::because(
                    crate::exit::HOST_BUG,
                    format!("the {which} edge ended without a word; nothing more was committed; please report it"),
                ));
                self.take(Input::StopNowAsked);
                // Nobody may be left to answer the wish to leave.
                self.take(Input::Left);
            }
        }
    }

    fn heed(&mut self, asked: Asked) {
        match asked {
            Asked::Stop => {
                self.observer.note_stop_asked();
                self.take(Input::StopAsked);
            }
            Asked::StopNow => {
                self.observer.note_stop_insisted();
                self.leave_now();
            }
            Asked::Wish(wish) => {
                let Some(granted) = self.observer.grant(wish, &self.edges.consumer) else { return };
                match granted.request() {
                    Request::Status {} => {}
                    Request::Pause {} => self.take(Input::PauseAsked),
                    Request::Resume {} => self.take(Input::ResumeAsked),
                    Request::Retry {} => {
                        self.decoding.iter().for_each(Stage::ask_anew);
                        self.take(Input::RetryAsked);
                    }
                    Request::Skip { reason, at: _ } => {
                        let (reason, only) = (reason.trim().to_owned(), granted.skipped());
                        self.take(Input::SkipAsked { reason, only });
                    }
                    Request::Stop { now: false } => {
                        self.observer.note_stop_asked();
                        self.take(Input::StopAsked);
                    }
                    Request::Stop { now: true } => self.leave_now(),
                }
                self.granted.push(granted);
            }
        }
    }

    fn answer_wishes(&mut self) {
        let now = self.clock.now();
        for granted in self.granted.drain(..) {
            self.observer.answer(now, granted, &self.edges.consumer);
        }
    }

    /// Somebody insists: leaving that begins now may take a moment only, and so may leaving that began before.
    fn leave_now(&mut self) {
        self.edges.close_wait_max = LEAVE_NOW_WAIT_MAX;
        self.observer.note_haste(LEAVE_NOW_WAIT_MAX);
        self.leave_by.get_or_insert(self.clock.now().after(LEAVE_NOW_WAIT_MAX));
        self.take(Input::StopNowAsked);
    }

    fn take(&mut self, input: Input<Body>) {
        let now = self.clock.now();
        self.observer.note_input(now, &input);
        self.machine.handle(now, input);
    }

    /// Carries out everything the machine wants. Gives the reason when it has ended.
    fn carry_out(&mut self) -> Option<StopReason> {
        let now = self.clock.now();
        while let Some(action) = self.machine.poll() {
            self.observer.note_action(now, &action, &self.edges.consumer);
            match self.edges.apply(now, action) {
                Ok(None) => {}
                Ok(Some(reason)) => return Some(reason),
                Err(error) => self.observer.ends_with(Exit::because(
                    crate::exit::HOST_BUG,
                    format!("a batch could not be handed over: {error}; it was not committed; please report it"),
                )),
            }
        }
        self.edges.emitting.forget();
        self.observer.show(now);
        None
    }

    fn end(self, reason: &StopReason) -> Exit {
        let place = self.edges.narrator.place_of(reason, &self.edges.consumer);
        self.observer.end(self.clock.now(), reason, place.as_deref())
    }
}

impl Feeds {
    /// Waits for the next thing to happen, or for `wakeup`. No branch loses anything when another one wins.
    async fn next(&mut self, wakeup: Option<Instant>) -> Woken {
        let sleep = async {
            match wakeup {
                Some(instant) => tokio::time::sleep_until(instant.into()).await,
                None => std::future::pending().await,
            }
        };
        let decoded = async {
            match &mut self.decoded {
                Some(decoded) => decoded.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            asked = self.asks.recv() => asked.map_or(Woken::Deaf("signal"), Woken::Asked),
            answered = self.guest.recv() => answered.map_or(Woken::Deaf("guest"), Woken::Guest),
            // Before what goes in there, so that the way is not longer than it has to be.
            news = decoded => news.map_or(Woken::Deaf("decoding"), Woken::Decoded),
            event = self.kafka.recv() => event.map_or(Woken::Deaf("kafka"), Woken::Kafka),
            () = sleep => Woken::Time,
        }
    }
}
