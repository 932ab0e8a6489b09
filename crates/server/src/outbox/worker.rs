//! The loop: looks for lanes with work, hands messages to tasks, and hears how it went.
//!
//! Woken by a commit that wrote a message, by a message that ended, and by a tick that finds whatever a wake-up missed.

use std::sync::Arc;
use std::time::Duration;

use decisions::Answer;
use decisions::Command;
use decisions::deliveries::{ClaimDelivery, DeliveryDelivered, DeliveryFailed};
use decisions::records::{Delivery, LaneKey};
use store::{Store, StoreError};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use wire::MessageId;

use crate::engine::Engine;
use crate::mint::Mint;
use crate::outbox::lanes::{FOUND_MAX, IN_FLIGHT_MAX, Lanes};
use crate::outbox::send::Sender;
use crate::outbox::target::Rules;
use crate::perform::Failure;

/// Between two looks that nothing caused: pauses end, claims run out, another server stops.
const TICK: Duration = Duration::from_millis(250);

/// Messages of one commit and its neighbours are found together.
const GATHER: Duration = Duration::from_millis(2);

/// Ticks between two counts of the outbox.
const TICKS_PER_COUNT: u32 = 8;

/// Lanes that one question brings.
const LANES_PAGE: usize = 256;

/// How long those on their way may still take when the server stops; then their claims are given back.
const STOP_GRACE: Duration = Duration::from_secs(3);
const STOP_REPORT_MAX: Duration = Duration::from_secs(2);

/// A result that the engine does not take is offered again, this often at most; then the claim runs out.
const REPORTS_MAX: u32 = 8;
const REPORT_PAUSE: Duration = Duration::from_millis(100);

const STOPPED: &str = "the server stopped before the answer came";

pub struct Worker<S> {
    engine: Engine<S>,
    sender: Arc<Sender>,
    lanes: Lanes,
    /// Where the next look begins, when the last one had to end early.
    cursor: Option<LaneKey>,
    ended: mpsc::Receiver<Ended>,
    end: mpsc::Sender<Ended>,
    /// Tells those on their way to give up.
    give_up: watch::Sender<bool>,
}

/// A message is no longer on its way.
struct Ended {
    lane: LaneKey,
    id: MessageId,
    /// Unknown when it could not be claimed.
    delivered: Option<bool>,
}

impl<S: Store> Worker<S> {
    pub fn new(engine: Engine<S>, rules: Arc<Rules>) -> Worker<S> {
        let (end, ended) = mpsc::channel(IN_FLIGHT_MAX);
        let (give_up, _) = watch::channel(false);
        let sender = Arc::new(Sender::new(rules));
        Worker { engine, sender, lanes: Lanes::default(), cursor: None, ended, end, give_up }
    }

    pub async fn run(mut self, mut stopping: watch::Receiver<bool>) {
        let mut ticker = interval(TICK);
        ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut ticks: u32 = 0;
        let engine = self.engine.clone();
        loop {
            let looked = tokio::select! {
                () = told(&mut stopping) => break,
                Some(ended) = self.ended.recv() => self.follow(ended).await,
                () = engine.delivery_written() => {
                    sleep(GATHER).await;
                    self.look().await
                }
                _ = ticker.tick() => {
                    if ticks.is_multiple_of(TICKS_PER_COUNT) {
                        self.count().await;
                    }
                    ticks = ticks.wrapping_add(1);
                    self.look().await
                }
            };
            if let Err(error) = looked {
                tracing::warn!(%error, "the store does not say what to deliver; the next tick asks again");
                self.engine.metrics().failed("outbox_look_failed");
            }
        }
        self.wind_up().await;
    }

    /// All lanes with work, as long as there are hands; what is left over comes first the next time.
    async fn look(&mut self) -> Result<(), StoreError> {
        let mut after = self.cursor.take();
        let mut from_start = after.is_none();
        loop {
            let now = self.engine.clock().now();
            let page = self.engine.store().lanes_ready(now, after.as_ref(), LANES_PAGE).await?;
            let is_last = page.len() < LANES_PAGE;
            for lane in page {
                if self.lanes.is_full() {
                    self.cursor = after;
                    return Ok(());
                }
                self.visit(&lane).await?;
                after = Some(lane);
            }
            match (is_last, from_start) {
                (false, _) => {}
                (true, false) => (after, from_start) = (None, true),
                (true, true) => return Ok(()),
            }
        }
    }

    /// Hands out what the lane has room for.
    async fn visit(&mut self, lane: &LaneKey) -> Result<(), StoreError> {
        loop {
            while let Some(id) = self.lanes.take(lane) {
                self.hand_out(lane.clone(), id);
            }
            if !self.lanes.wants(lane) {
                return Ok(());
            }
            let now = self.engine.clock().now();
            let ids = self.engine.store().deliveries_ready_of(lane, now, FOUND_MAX).await?;
            if !self.lanes.found(lane, ids) {
                return Ok(());
            }
        }
    }

    fn hand_out(&self, lane: LaneKey, id: MessageId) {
        let (engine, sender, end) = (self.engine.clone(), self.sender.clone(), self.end.clone());
        let give_up = self.give_up.subscribe();
        tokio::spawn(async move {
            let delivered = deliver(&engine, &sender, id, give_up).await;
            let _ = end.send(Ended { lane, id, delivered }).await; // the worker may have stopped waiting
        });
    }

    /// Goes on with the lane, unless others wait for a hand or there was nothing to claim: then a tick looks again.
    async fn follow(&mut self, Ended { lane, id, delivered }: Ended) -> Result<(), StoreError> {
        self.lanes.done(&lane, id, delivered);
        match delivered {
            _ if self.cursor.is_some() => self.look().await,
            Some(_) => self.visit(&lane).await,
            None => Ok(()),
        }
    }

    async fn count(&self) {
        if let Ok(counts) = self.engine.store().outbox_counts().await {
            self.engine.metrics().outbox(counts);
        }
    }

    /// What is on its way gets a moment; then its claims are given back.
    async fn wind_up(&mut self) {
        if timeout(STOP_GRACE, self.last_ends()).await.is_err() {
            self.give_up.send_replace(true);
            if timeout(STOP_REPORT_MAX, self.last_ends()).await.is_err() {
                tracing::warn!(
                    messages = self.lanes.in_flight(),
                    "some claims on messages run out by themselves"
                );
            }
        }
    }

    async fn last_ends(&mut self) {
        while self.lanes.in_flight() > 0 {
            let Some(Ended { lane, id, delivered }) = self.ended.recv().await else { return };
            self.lanes.done(&lane, id, delivered);
        }
    }
}

/// Returns when the flag is up, or whoever could raise it is gone.
async fn told(flag: &mut watch::Receiver<bool>) {
    let _ = flag.wait_for(|flag| *flag).await;
}

/// Claims, sends, reports. Whether the subscriber has it; unknown if it could not be claimed.
async fn deliver<S: Store>(
    engine: &Engine<S>,
    sender: &Sender,
    id: MessageId,
    mut give_up: watch::Receiver<bool>,
) -> Option<bool> {
    let delivery = match engine.perform(ClaimDelivery { delivery: id }).await {
        Ok(Answer::Claimed(Some(delivery))) => delivery,
        Ok(_) | Err(_) => return None, // taken, or not possible now
    };
    let sent = tokio::select! {
        sent = sender.send(engine, &delivery) => sent,
        () = told(&mut give_up) => Err(STOPPED.into()),
    };
    let delivered = sent.is_ok();
    engine.metrics().sent(if delivered { "delivered" } else { "failed" });
    report(engine, &delivery, sent).await;
    Some(delivered)
}

/// Says how it went. If nobody takes it, the claim runs out and the message is told again: at least once.
async fn report<S: Store>(engine: &Engine<S>, delivery: &Delivery, sent: Result<(), String>) {
    let (id, claim) = (delivery.id, delivery.claims);
    let command: Command = match sent {
        Ok(()) => DeliveryDelivered { delivery: id, claim }.into(),
        Err(error) => {
            tracing::debug!(message_id = %id, lane = delivery.lane, error, tries = delivery.tries, "not delivered");
            DeliveryFailed { delivery: id, claim, error, jitter: Mint.jitter() }.into()
        }
    };
    for tried in 1..=REPORTS_MAX {
        match engine.perform(command.clone()).await {
            Ok(_) => return,
            Err(Failure::Refused(refusal)) => {
                return tracing::warn!(message_id = %id, %refusal, "a result that came too late");
            }
            Err(Failure::Bug(what)) => {
                return tracing::error!(message_id = %id, %what, "a result met a mistake of ours");
            }
            Err(Failure::Busy | Failure::Unavailable(_) | Failure::Unknown(_)) => {
                sleep(REPORT_PAUSE * tried).await;
            }
        }
    }
    tracing::warn!(message_id = %id, "a result could not be written; the message will be told again");
}
