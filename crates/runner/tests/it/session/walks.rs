//! Whatever happens, in whatever order: the promises of a session hold at every step.

use std::time::Duration;

use proptest::prelude::*;
use runner::clock::Uptime;
use runner::keeper::{Finish, Report};
use runner::session::{Action, Answer, Call, Collected, End, Plan, Request, Session, Terms, Wanted};
use wire::runner::StaleReason;

use crate::script::usual;

/// One thing that happens, some time after the one before.
#[derive(Debug, Clone)]
struct Step {
    after: Duration,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    /// The oldest request in flight is answered; with a good answer of its kind, unless another is given.
    Answer(Option<Answer>),
    Report(Report),
    Written(u64),
    Gone,
    Collected(Collected),
    Stop,
    Tick,
}

fn step() -> impl Strategy<Value = Step> {
    let after = prop_oneof![Just(0u64), 1..500u64, 500..20_000u64, 20_000..130_000u64];
    let answer = prop_oneof![
        6 => Just(None),
        3 => Just(Some(Answer::Unknown { jitter: 0.5 })),
        1 => Just(Some(Answer::NotAcknowledged)),
        1 => Just(Some(Answer::Refused { code: "no".into() })),
        1 => prop_oneof![
            Just(Answer::Stale(StaleReason::LeaseExpired)),
            Just(Answer::Stale(StaleReason::LeaseCompleted)),
            Just(Answer::Unauthorized),
            Just(Answer::Beaten { ttl: None, cancel: None }),
            Just(Answer::Beaten { ttl: Some(Duration::from_secs(120)), cancel: Some(Duration::from_secs(30)) }),
            (0..2_000_000u64).prop_map(|offset| Answer::WrongOffset { offset }),
        ].prop_map(Some),
    ];
    let finish = prop_oneof![
        Just(Finish::Succeeded),
        Just(Finish::StepFailed { index: 0, exit_code: 1 }),
        Just(Finish::TimedOut),
        Just(Finish::Canceled { forced: true }),
        Just(Finish::OutOfLease),
        Just(Finish::Infra { problem: "p".into() }),
    ];
    let what = prop_oneof![
        8 => answer.prop_map(What::Answer),
        2 => (0..1_000_000u64).prop_map(What::Written),
        1 => (0..2u32).prop_map(|index| What::Report(Report::StepStarted { index })),
        1 => finish.prop_map(|finish| What::Report(Report::Finished(finish))),
        1 => Just(What::Gone),
        1 => collected().prop_map(What::Collected),
        1 => Just(What::Stop),
        3 => Just(What::Tick),
    ];
    (after, what).prop_map(|(millis, what)| Step { after: Duration::from_millis(millis), what })
}

fn collected() -> impl Strategy<Value = Collected> {
    prop_oneof![
        4 => Just(Collected::Done { artifacts: Vec::new(), caches: Vec::new() }),
        1 => Just(Collected::TooMuch { problem: "p".into() }),
        1 => Just(Collected::Failed { problem: "p".into(), artifacts: Vec::new() }),
        1 => Just(Collected::Stale(StaleReason::LeaseRevoked)),
    ]
}

/// What the session has shown of itself, and what it may therefore still do.
struct Witness {
    session: Session,
    now: Uptime,
    in_flight: Vec<Call>,
    length: u64,
    acknowledged: bool,
    started: bool,
    /// The keeper's own deadline, as it was last told.
    until: Option<Uptime>,
    keeper_over: bool,
    /// Once that is asked for, the keeper hears of no renewal any more.
    killed: bool,
    /// Artifacts are on their way.
    collecting: bool,
    collected: bool,
    silenced: bool,
    final_words: Vec<Call>,
    end: Option<End>,
}

impl Witness {
    fn new() -> Witness {
        let now = Uptime::from_start(Duration::from_secs(7));
        let terms = Terms { artifacts: Wanted { any: true, reports: true, caches: true }, ..usual() };
        Witness {
            session: Session::new(terms, Plan::Run, now),
            now,
            in_flight: Vec::new(),
            length: 0,
            acknowledged: false,
            started: false,
            until: None,
            keeper_over: false,
            killed: false,
            collecting: false,
            collected: false,
            silenced: false,
            final_words: Vec::new(),
            end: None,
        }
    }

    fn happen(&mut self, step: Step) {
        self.pass(step.after);
        let now = self.now;
        match step.what {
            What::Answer(answer) => self.answer(answer),
            What::Report(report) if self.started && !self.keeper_over => {
                self.keeper_over = matches!(report, Report::Finished(_));
                self.session.handle_report(now, &report);
            }
            What::Gone if self.started && !self.keeper_over => {
                self.keeper_over = true;
                self.session.handle_gone(now);
            }
            What::Written(more) if self.started && !self.keeper_over => {
                self.length += more;
                self.session.handle_written(now, self.length);
            }
            What::Collected(collected) if self.collecting => {
                self.collecting = false;
                self.silenced |= matches!(collected, Collected::Stale(_));
                self.session.handle_collected(now, collected);
            }
            What::Stop => self.session.handle_stop(now),
            What::Tick => self.session.handle_timeout(now),
            What::Report(_) | What::Gone | What::Written(_) | What::Collected(_) => {}
        }
        self.drain();
    }

    /// Time passes as it does for a driver that always comes back in time.
    fn pass(&mut self, time: Duration) {
        let target = self.now.plus(time);
        for _ in 0..10_000 {
            match self.session.poll_timeout().filter(|wake| *wake <= target) {
                Some(wake) => {
                    self.now = self.now.max(wake);
                    self.session.handle_timeout(self.now);
                    self.drain();
                }
                None => {
                    self.now = target;
                    return;
                }
            }
        }
        panic!("the session keeps its driver busy for ever");
    }

    fn answer(&mut self, answer: Option<Answer>) {
        if self.in_flight.is_empty() {
            return;
        }
        let call = self.in_flight.remove(0);
        let ttl = Duration::from_secs(120);
        let answer = answer.unwrap_or(match call {
            Call::Ack => Answer::Acked { ttl },
            Call::Heartbeat => Answer::Beaten { ttl: Some(ttl), cancel: None },
            Call::Log => Answer::Logged { offset: self.length, truncated: false },
            Call::Complete => Answer::Completed { accepted: true },
            Call::CancelAck => Answer::CancelAcked,
        });
        self.acknowledged |= matches!(answer, Answer::Acked { .. });
        self.silenced |= matches!(answer, Answer::Stale(_) | Answer::Unauthorized);
        self.session.handle_answer(self.now, call, answer);
    }

    fn drain(&mut self) {
        for _ in 0..100 {
            match self.session.poll_action(self.now) {
                Some(action) => self.see(action),
                None => return,
            }
        }
        panic!("the session never has enough");
    }

    fn see(&mut self, action: Action) {
        assert_eq!(self.end, None, "nothing follows the end, but {action:?} did");
        match action {
            Action::Send { request, .. } => self.see_request(&request),
            Action::Start { until } => {
                assert!(self.acknowledged && !self.started && !self.silenced && until > self.now);
                self.started = true;
                self.until = Some(until);
            }
            Action::Extend { until } => {
                assert!(self.started && !self.keeper_over && !self.silenced && until > self.now);
                self.until = Some(until);
            }
            Action::Cancel { .. } | Action::NoteTruncated => assert!(self.started && !self.silenced),
            Action::Kill => {
                assert!(self.started);
                self.killed = true;
            }
            Action::Collect(_) => {
                assert!(self.keeper_over && !self.collected && !self.silenced && self.final_words.is_empty());
                (self.collecting, self.collected) = (true, true);
            }
            Action::Abandon => {
                assert!(self.collecting && !self.silenced);
                self.collecting = false;
            }
            Action::Over(end) => {
                assert!(!self.started || self.keeper_over, "it is over, but the job is not");
                self.end = Some(end);
            }
        }
    }

    fn see_request(&mut self, request: &Request) {
        let call = request.call();
        assert!(!self.silenced, "{call:?} was said after the lease was lost");
        assert!(!self.in_flight.contains(&call), "two of {call:?} at once");
        assert!(call == Call::Ack || self.acknowledged, "{call:?} before the acknowledgement");
        if self.started && !self.keeper_over && !self.killed {
            assert!(self.until.is_some_and(|until| self.now < until), "{call:?} past the lease");
        }
        if matches!(call, Call::Complete | Call::CancelAck) {
            assert!(!self.started || self.keeper_over, "{call:?} while the job runs");
            assert!(!self.collecting, "{call:?} while artifacts are on their way");
            self.final_words.push(call);
            assert!(self.final_words.iter().all(|word| *word == call), "two different final words");
        }
        self.in_flight.push(call);
    }

    /// With an orchestrator that never answers well again, and a keeper that does as it is told, it must end.
    fn run_out(&mut self) {
        for _ in 0..1_000 {
            if self.end.is_some() {
                return;
            }
            let must_go =
                self.started && !self.keeper_over && self.until.is_some_and(|until| until <= self.now);
            let what = if must_go { What::Gone } else { What::Answer(Some(Answer::Unknown { jitter: 1.0 })) };
            self.happen(Step { after: Duration::from_millis(900), what });
        }
        panic!("it never ends: {:?}", self.session);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_order_of_events_breaks_a_promise(steps in prop::collection::vec(step(), 0..60)) {
        let mut witness = Witness::new();
        witness.drain();
        for step in steps {
            witness.happen(step);
        }
        witness.run_out();
    }
}
