//! Follows a run to its end: hears the records, the runner and the person in front of the machine, and tells it all in
//! order.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Result, bail};
use decisions::records::Plan;
use decisions::runs::CancelRun;
use runner::agent::{Seen, Stop};
use server::{Engine, Failure};
use store::Store;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, sleep};
use wire::{JobId, TenantId, Time};

use super::follow::Follower;
use super::happening::{Happening, Show};
use super::signals::Said;
use super::staff::{News, Staff};
use crate::outcome;
use crate::output::Exit;

/// Between two looks into the records, however often they change.
const READ_PAUSE: Duration = Duration::from_millis(20);
/// How often whoever shows it may move something.
const TICK: Duration = Duration::from_millis(100);
const CTRL_C: &str = "interrupted by Ctrl-C";

pub struct Course<'a, S> {
    engine: Engine<S>,
    began: Time,
    show: &'a mut dyn Show,
    /// What the runner saw and has not been told.
    heard: VecDeque<Seen>,
}

impl<'a, S: Store> Course<'a, S> {
    pub fn begin(engine: Engine<S>, show: &'a mut dyn Show) -> Course<'a, S> {
        let began = engine.clock().now();
        Course { engine, began, show, heard: VecDeque::new() }
    }

    pub fn tell(&mut self, happening: &Happening) {
        let now = self.engine.clock().now().since(self.began);
        self.show.happened(happening, now);
    }

    /// Until the run is over and its runner gone.
    pub async fn follow(
        mut self,
        mut follower: Follower<S>,
        tenant: TenantId,
        plan: &Plan,
        mut staff: Option<Staff>,
        signals: &mut mpsc::Receiver<Said>,
    ) -> Result<Exit> {
        let trouble = self.attend(&mut follower, tenant, &mut staff, signals).await?;
        if let Some(staff) = staff {
            staff.leave().await;
        }
        if let Some(trouble) = trouble {
            bail!("the runner of this process cannot work: {trouble}");
        }
        let state = follower.ended.clone().unwrap_or_default();
        let exit = outcome::of_ended(&state, follower.classes().into_iter().map(outcome::of_class));
        let ended = Happening::RunEnded { run: follower.run, state, jobs: follower.lines(plan) };
        self.tell(&ended);
        Ok(exit)
    }

    /// Until the run is over. Returns what became of the runner, if that kept the run from going on.
    async fn attend(
        &mut self,
        follower: &mut Follower<S>,
        tenant: TenantId,
        staff: &mut Option<Staff>,
        signals: &mut mpsc::Receiver<Said>,
    ) -> Result<Option<String>> {
        let (mut commits, mut ticker) = (self.engine.committed(), interval(TICK));
        ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut trouble = None;
        self.catch_up(follower, staff).await?;
        let mut rest = Box::pin(sleep(READ_PAUSE));
        while follower.ended.is_none() {
            tokio::select! {
                Some(said) = signals.recv() => self.obey(said, follower, tenant, staff.as_ref()).await?,
                news = news(staff) => match news {
                    News::Seen(seen) => {
                        self.heard.push_back(seen);
                        self.tell_heard(follower, staff).await?;
                    }
                    News::Gone(None) => {} // told to: what it could not say any more ends by itself
                    News::Gone(Some(why)) => {
                        self.cancel(follower, tenant, &format!("the runner cannot work: {why}")).await?;
                        trouble = Some(why);
                    }
                },
                _ = commits.changed(), if rest.is_elapsed() => {
                    self.catch_up(follower, staff).await?;
                    self.tell_heard(follower, staff).await?;
                    rest.set(sleep(READ_PAUSE));
                }
                () = &mut rest, if !rest.is_elapsed() => {}
                _ = ticker.tick() => self.show.tick(self.engine.clock().now().since(self.began)),
            }
        }
        self.tell_heard(follower, staff).await?;
        Ok(trouble)
    }

    async fn obey(
        &mut self,
        said: Said,
        follower: &Follower<S>,
        tenant: TenantId,
        staff: Option<&Staff>,
    ) -> Result<()> {
        match said {
            Said::Cancel => self.cancel(follower, tenant, CTRL_C).await?,
            Said::Force => staff.into_iter().for_each(|staff| staff.tell(Stop::Kill)),
        }
        self.tell(&Happening::CancelRequested { forced: said == Said::Force });
        Ok(())
    }

    async fn cancel(&self, follower: &Follower<S>, tenant: TenantId, reason: &str) -> Result<()> {
        let cancel = CancelRun { tenant, run: follower.run, reason: reason.into() };
        match self.engine.perform(cancel).await {
            Ok(_) | Err(Failure::Refused(_)) => Ok(()), // refused: it has just ended by itself
            Err(failure) => Err(failure.into()),
        }
    }

    /// Tells what was committed; before the end of a job, what the runner saw of it.
    async fn catch_up(&mut self, follower: &mut Follower<S>, staff: &mut Option<Staff>) -> Result<()> {
        let events = follower.read().await?;
        for (place, event) in events.iter().enumerate() {
            if let Some(job) = follower.ends(event) {
                staff.iter_mut().for_each(|staff| self.heard.extend(staff.waiting()));
                self.tell_heard_of(job, follower);
            }
            if let Some(happening) = follower.moved(event, &events[place + 1..]).await? {
                self.tell(&happening);
            }
        }
        Ok(())
    }

    /// What belongs to a later attempt waits for its start.
    fn tell_heard_of(&mut self, job: JobId, follower: &mut Follower<S>) {
        let job = job.to_string();
        for seen in std::mem::take(&mut self.heard) {
            if seen.job_id != job || follower.is_early(&seen) {
                self.heard.push_back(seen);
            } else if let Some(happening) = follower.seen(seen) {
                self.tell(&happening);
            }
        }
    }

    /// All of it; where its beginning is missing, the records have it by now.
    async fn tell_heard(&mut self, follower: &mut Follower<S>, staff: &mut Option<Staff>) -> Result<()> {
        let mut has_read = false;
        while let Some(seen) = self.heard.pop_front() {
            if follower.is_early(&seen) && !has_read {
                self.heard.push_front(seen);
                self.catch_up(follower, staff).await?;
                has_read = true;
                continue;
            }
            has_read = false;
            if let Some(happening) = follower.seen(seen) {
                self.tell(&happening);
            }
        }
        Ok(())
    }
}

async fn news(staff: &mut Option<Staff>) -> News {
    match staff {
        Some(staff) => staff.news().await,
        None => std::future::pending().await,
    }
}
