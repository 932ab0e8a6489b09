//! One lease, from the grant to the end: feeds the session what happens and does what it wants done.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use wire::RunnerId;
use wire::runner::LeaseGranted;

use crate::agent::gather::Leavings;
use crate::agent::hands::Hire;
use crate::agent::hold::{Held, Tell, Words, hold};
use crate::agent::messages::Speaker;
use crate::agent::prepare::{Prepared, Shop, clean_up, prepare};
use crate::agent::stop::{Stop, said};
use crate::agent::tap::Tap;
use crate::artifacts::{Bounds, FILES_MAX};
use crate::caches::Fetcher;
use crate::client::{Lost, answer, seconds};
use crate::clock::Uptime;
use crate::keeper::{Order, Report};
use crate::logs::{Spool, Spooled};
use crate::mint;
use crate::session::{Action, Answer, Call, Collected, End, Outcome, Plan, Request, Session, Terms, Which};

/// What happened to a lease.
#[derive(Debug)]
pub enum Event {
    Answered(Call, Answer),
    Report(Report),
    Finished {
        report: Report,
        last_words: String,
    },
    /// The log's new length.
    Written(u64),
    Collected(Collected),
    Gone,
}

const EVENTS_WAITING_MAX: usize = 64;
const TELLS_WAITING_MAX: usize = 64;
/// Timers stand still while the machine sleeps, deadlines do not: look at least this often.
const NAP_MAX: Duration = Duration::from_secs(1);
/// A lease that asks for more would keep us busy with nothing else.
const INTERVAL_MIN: Duration = Duration::from_millis(10);
const TRUNCATED: &str = "# this log is longer than the server keeps: its middle will be missing";

/// Executes a job, and returns when nothing of it is left.
pub async fn execute<H: Hire>(
    shop: Arc<Shop<H>>,
    runner_id: RunnerId,
    granted: LeaseGranted,
    mut stop: watch::Receiver<Stop>,
) -> End {
    let (place, prepared) = prepare(&shop, &granted);
    let (events, mut happened) = mpsc::channel(EVENTS_WAITING_MAX);
    let mut drive = Drive::new(Arc::clone(&shop), runner_id, granted, prepared, events);
    let end = drive.run(&mut happened, &mut stop).await;
    happened.close();
    drive.leave().await;
    if let Some(Err(error)) = place.map(|place| clean_up(&shop, place, &end)) {
        tracing::warn!(%error, "cannot remove what a job left");
    }
    end
}

struct Drive<H> {
    shop: Arc<Shop<H>>,
    session: Session,
    speaker: Speaker,
    order: Option<Order>,
    spool: Option<Spool>,
    log: Option<Spooled>,
    steps: Vec<String>,
    last_words: String,
    leavings: Option<Leavings>,
    caches: Option<Fetcher>,
    /// The log, once the job is over.
    handed_on: Option<oneshot::Receiver<Words>>,
    events: mpsc::Sender<Event>,
    tells: Option<mpsc::Sender<Tell>>,
    holder: Option<JoinHandle<()>>,
    gatherer: Option<JoinHandle<()>>,
    requests: JoinSet<()>,
}

impl<H: Hire> Drive<H> {
    fn new(
        shop: Arc<Shop<H>>,
        runner_id: RunnerId,
        granted: LeaseGranted,
        prepared: Prepared,
        events: mpsc::Sender<Event>,
    ) -> Drive<H> {
        let Prepared { order, spool, artifacts, caches } = prepared;
        let workspace = order.as_ref().map(|order| order.workspace.clone()).unwrap_or_default();
        let bounds = Bounds { files: FILES_MAX, total_bytes: shop.settings.artifacts_bytes_max };
        let packed = caches.as_ref().map(Fetcher::packed).unwrap_or_default();
        let leavings = Leavings::of(&granted, artifacts, workspace, &shop.client, bounds).with(packed);
        let steps = order.as_ref().map(|order| order.steps.clone()).unwrap_or_default();
        let terms = Terms {
            lease_ttl: seconds(granted.lease_ttl_seconds),
            heartbeat_interval: seconds(granted.heartbeat_interval_seconds).max(INTERVAL_MIN),
            max_runtime: seconds(granted.max_runtime_seconds),
            steps: steps.len() as u32,
            artifacts: leavings.wanted(),
        };
        let (plan, order) = match order {
            Ok(order) => (Plan::Run, Some(order)),
            Err(verdict) => (Plan::Refuse(verdict), None),
        };
        let now = Uptime::now();
        let mut session = Session::new(terms, plan, now);
        session.handle_written(now, spool.as_ref().map_or(0, Spool::written));
        Drive {
            speaker: Speaker {
                client: shop.client.clone(),
                job_id: granted.job_id,
                lease_id: granted.lease_id,
                runner_id,
            },
            shop,
            session,
            order,
            log: spool.as_ref().map(Spool::reader),
            spool,
            steps,
            last_words: String::new(),
            leavings: Some(leavings),
            caches,
            handed_on: None,
            events,
            tells: None,
            holder: None,
            gatherer: None,
            requests: JoinSet::new(),
        }
    }

    async fn run(&mut self, happened: &mut mpsc::Receiver<Event>, stop: &mut watch::Receiver<Stop>) -> End {
        let mut stop_now = stop.clone();
        let (mut handing_back, mut killing) = (false, false);
        loop {
            let now = Uptime::now();
            while let Some(action) = self.session.poll_action(now) {
                if let Action::Over(end) = action {
                    return end;
                }
                self.perform(now, action);
            }
            while self.requests.try_join_next().is_some() {}
            let wait = self.session.poll_timeout().map_or(NAP_MAX, |wake| now.until(wake).min(NAP_MAX));
            tokio::select! {
                Some(event) = happened.recv() => self.handle(event),
                () = tokio::time::sleep(wait) => self.session.handle_timeout(Uptime::now()),
                () = said(stop, Stop::HandBack), if !handing_back => {
                    handing_back = true;
                    self.session.handle_stop(Uptime::now());
                }
                () = said(&mut stop_now, Stop::Kill), if !killing => {
                    killing = true;
                    self.session.handle_stop_now(Uptime::now());
                }
            }
        }
    }

    fn handle(&mut self, event: Event) {
        let now = Uptime::now();
        match event {
            Event::Answered(call, answer) => self.session.handle_answer(now, call, answer),
            Event::Report(report) => self.session.handle_report(now, &report),
            Event::Finished { report, last_words } => {
                self.last_words = last_words;
                self.session.handle_report(now, &report);
            }
            Event::Written(length) => self.session.handle_written(now, length),
            Event::Collected(collected) => {
                if matches!(collected, Collected::TooMuch { .. }) {
                    self.last_words.clear(); // they do not say why it failed
                }
                self.session.handle_collected(now, collected);
            }
            Event::Gone => self.session.handle_gone(now),
        }
    }

    fn perform(&mut self, now: Uptime, action: Action) {
        match action {
            Action::Send { request, timeout } => {
                let about_to_start = matches!(request, Request::Ack) && self.order.is_some();
                self.send(request, timeout);
                if about_to_start {
                    self.shop.hire.expect();
                }
            }
            Action::Start { until } => self.start(until),
            Action::Extend { until } => self.tell(Tell::Extend(until)),
            Action::Cancel { grace } => self.tell(Tell::Cancel(grace)),
            Action::NoteTruncated => self.tell(Tell::Note(TRUNCATED)),
            Action::Collect(which) => self.collect(which),
            Action::Abandon => self.gatherer.iter().for_each(JoinHandle::abort),
            Action::Kill if self.tells.is_none() => self.session.handle_gone(now),
            Action::Kill => self.kill(),
            Action::Over(_) => {} // taken by whoever polls
        }
    }

    fn start(&mut self, until: Uptime) {
        let (Some(mut order), Some(spool)) = (self.order.take(), self.spool.take()) else { return };
        order.until = until;
        let (tells, told) = mpsc::channel(TELLS_WAITING_MAX);
        self.tells = Some(tells);
        let (hand_on, handed_on) = oneshot::channel();
        self.handed_on = Some(handed_on);
        let tap = Tap::new(self.speaker.job_id.clone(), self.shop.settings.tap.clone());
        let held = Held { order, caches: self.caches.take(), words: Words { spool, tap } };
        let holding = hold(self.shop.hire.clone(), held, told, self.events.clone(), hand_on);
        self.holder = Some(tokio::spawn(holding));
    }

    fn collect(&mut self, which: Which) {
        let (Some(leavings), Some(log)) = (self.leavings.take(), self.handed_on.take()) else { return };
        self.gatherer = Some(tokio::spawn(leavings.gather(which, log, self.events.clone())));
    }

    /// A holder that takes no more is stuck with its keeper, which ends by itself when its lease does.
    fn tell(&self, tell: Tell) {
        if let Some(Err(error)) = self.tells.as_ref().map(|tells| tells.try_send(tell)) {
            tracing::debug!(%error, "the keeper is not told any more");
        }
    }

    /// A holder that is gone has said so, unless it failed; said twice does no harm.
    fn kill(&self) {
        let told = self.tells.as_ref().map(|tells| tells.try_send(Tell::Kill));
        if !matches!(told, Some(Ok(()))) {
            let _ = self.events.try_send(Event::Gone); // full: then there is more to hear first
        }
    }

    /// Each request is a task of its own: none waits for another.
    fn send(&mut self, request: Request, timeout: Duration) {
        let speaker = self.speaker.clone();
        let events = self.events.clone();
        let call = request.call();
        let request = self.complemented(request);
        let log = self.log.clone();
        let step = match &request {
            Request::Heartbeat(beat) => beat.step.and_then(|step| self.steps.get(step as usize)).cloned(),
            Request::Ack | Request::Log { .. } | Request::Complete { .. } | Request::CancelAck { .. } => None,
        };
        self.requests.spawn(async move {
            let reply = speaker.say(request, step, log, timeout).await;
            let (answer, problem) = match reply {
                Ok(reply) => (answer(call, &reply, mint::jitter()), format!("status {}", reply.status)),
                Err(Lost { problem, .. }) => (Answer::Unknown { jitter: mint::jitter() }, problem),
            };
            if matches!(answer, Answer::Unknown { .. }) {
                tracing::warn!(runner = %speaker.runner_id, job = speaker.job_id, ?call, problem, "no good answer");
            }
            let _ = events.send(Event::Answered(call, answer)).await; // nobody may care any more
        });
    }

    /// Why a step failed is in the last lines it wrote; the orchestrator classifies the failure by them.
    fn complemented(&self, request: Request) -> Request {
        match request {
            Request::Complete { mut verdict, artifacts, caches, started_at, finished_at }
                if verdict.outcome == Outcome::Failed && !self.last_words.is_empty() =>
            {
                verdict.summary = format!("{}: {}", verdict.summary, self.last_words);
                Request::Complete { verdict, artifacts, caches, started_at, finished_at }
            }
            other => other,
        }
    }

    /// Returns when the keeper is gone.
    async fn leave(&mut self) {
        self.requests.abort_all();
        self.tells = None;
        if let Some(gatherer) = self.gatherer.take() {
            gatherer.abort();
            let _ = gatherer.await; // stopped, or over
        }
        if let Some(Err(error)) = match self.holder.take() {
            Some(holder) => Some(holder.await),
            None => None,
        } {
            tracing::error!(%error, "the task that holds a keeper failed");
        }
    }
}
