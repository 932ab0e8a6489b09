//! The course of one job: prepare, run the steps, and stop in time if asked to.

use std::time::Duration;

use super::Problem;
use super::caches;
use super::checkout;
use super::copy;
use super::environment;
use super::link::{Agent, Reports};
use super::order::{ExecutorKind, Finish, Order, Report};
use super::places::Places;
use super::reaper::Reaper;
use super::tree::Tree;
use crate::clock::Uptime;
use crate::executors::{self, Executor, Job, Mark, Pump};

/// How often we look whether a job that was asked to end has done so.
const QUIET_PAUSE: Duration = Duration::from_millis(10);
/// For what prepares a job, to put down what it holds. A sandbox that is on its way into its walls has lost who would tell it
/// to end, and hears no signal but SIGKILL: it would take a job's whole grace.
const PREPARING_GRACE: Duration = Duration::from_secs(1);

pub struct Course {
    order: Order,
    agent: Agent,
    pub reports: Reports,
    reaper: Reaper,
    places: Option<Places>,
    /// Set when an executor begins to open.
    opening: Option<ExecutorKind>,
    executor: Option<Box<dyn Executor>>,
    /// Whether a step may have begun.
    ready: bool,
    pump: Option<Pump>,
}

/// How the work ended, before anything is stopped.
enum End {
    Finished(Finish),
    TimedOut,
    Canceled { grace: Duration },
    LeaseOver,
}

/// How a job took being asked to end.
#[derive(PartialEq, Eq)]
enum Calm {
    Quiet,
    GraceOver,
    LeaseOver,
}

impl Course {
    pub fn new(order: Order, agent: Agent, reports: Reports, reaper: Reaper) -> Course {
        Course {
            order,
            agent,
            reports,
            reaper,
            places: None,
            opening: None,
            executor: None,
            ready: false,
            pump: None,
        }
    }

    /// Returns when the steps are over or have to be. Processes may be left.
    pub async fn run(&mut self) -> Finish {
        let (mut lease, mut cancel) = (self.agent.clone(), self.agent.clone());
        // Whichever of the work's futures is dropped here, only stopping follows, and that may come at any time.
        let end = tokio::select! {
            biased;
            () = lease.lease_over() => End::LeaseOver,
            grace = cancel.canceled() => End::Canceled { grace },
            end = self.work() => end.unwrap_or_else(|problem| End::Finished(infra(problem))),
        };
        match end {
            End::Finished(finish) => finish,
            End::LeaseOver => Finish::OutOfLease,
            End::TimedOut => match self.calm(self.order.grace).await {
                Calm::Quiet | Calm::GraceOver => Finish::TimedOut,
                Calm::LeaseOver => Finish::OutOfLease,
            },
            End::Canceled { grace } => match self.calm(grace).await {
                Calm::Quiet => Finish::Canceled { forced: false },
                Calm::GraceOver => Finish::Canceled { forced: true },
                Calm::LeaseOver => Finish::OutOfLease,
            },
        }
    }

    /// Kills what is left of the job. May be called at any time.
    pub async fn kill(&mut self) -> Result<(), Problem> {
        match (&mut self.executor, self.opening) {
            (Some(executor), _) => executor.kill().await?,
            (None, Some(kind)) => executors::forget(kind).await?,
            (None, None) => {}
        }
        // What the checkout or a probe may have left.
        Tree::own().kill(&self.reaper).await
    }

    /// Waits until the agent has all that the dead job wrote.
    pub async fn drain(&mut self) -> Vec<Mark> {
        match &mut self.pump {
            Some(pump) => pump.drain().await,
            None => Vec::new(),
        }
    }

    /// Packs what later jobs may find. A cancel makes it pointless; the end of the lease ends all.
    pub async fn save_caches(&self) {
        let (Some(places), Some(kind)) = (&self.places, self.opening) else { return };
        let mut agent = self.agent.clone();
        tokio::select! {
            biased;
            _ = agent.canceled() => {}
            () = caches::save(&self.order, places, kind, &self.reports) => {}
        }
    }

    /// What is to be removed when all is said.
    pub fn places(&self) -> Option<Places> {
        self.places.clone()
    }

    async fn work(&mut self) -> Result<End, Problem> {
        self.prepare().await?;
        match tokio::time::timeout(self.order.max_runtime, self.steps()).await {
            Ok(finish) => Ok(End::Finished(finish?)),
            Err(_) => Ok(End::TimedOut),
        }
    }

    /// Everything that is not the job's own doing.
    async fn prepare(&mut self) -> Result<(), Problem> {
        let environment = environment::of(&self.order)?;
        let chosen = executors::choose(&self.order, &self.reaper).await?;
        self.reports.send(Report::Chosen { executor: chosen.kind, why: chosen.why }).await;
        let places = self.places.insert(Places::make(&self.order)?);
        if let Some(checkout) = &self.order.checkout {
            checkout::run(checkout, places, &self.reaper, &self.reports).await?;
        }
        if let Some(copy) = &self.order.copy {
            copy::run(copy, places).await?;
        }
        caches::restore(&self.order, places, chosen.kind, &self.reports).await;
        places.enter(&self.order.workdir)?;
        let word = word();
        let job = Job { order: &self.order, places, environment, reaper: &self.reaper, word: &word };
        self.opening = Some(chosen.kind);
        let (executor, output) = executors::open(chosen.kind, job).await?;
        let executor = self.executor.insert(executor);
        let pump = self.pump.insert(Pump::start(output, &word, self.reports.clone()));
        let ready = tokio::select! {
            biased;
            mark = pump.next() => mark,
            _ = executor.ended() => None,
        };
        if ready != Some(Mark::Ready) {
            let complaint = executor.complaint().unwrap_or_else(|| "it ended without a word".into());
            return Err(Problem::during("the executor could not start a shell for the steps", complaint));
        }
        executor.settle();
        self.ready = true;
        Ok(())
    }

    async fn steps(&mut self) -> Result<Finish, Problem> {
        for index in 0..u32::try_from(self.order.steps.len()).unwrap_or(u32::MAX) {
            self.reports.send(Report::StepStarted { index }).await;
            let exit_code = self.step().await?;
            self.reports.send(Report::StepEnded { index, exit_code }).await;
            if exit_code != 0 {
                return Ok(Finish::StepFailed { index, exit_code });
            }
        }
        Ok(Finish::Succeeded)
    }

    async fn step(&mut self) -> Result<i32, Problem> {
        let (Some(executor), Some(pump)) = (&mut self.executor, &mut self.pump) else {
            return Err(Problem::new(
                "the steps have no executor; this is a mistake of ours, please report it",
            ));
        };
        // If the shell inside is gone, `ended` says so.
        let _ = executor.go().await;
        let exit_code = tokio::select! {
            biased;
            Some(Mark::Ended(exit_code)) = pump.next() => return Ok(exit_code),
            exit_code = executor.ended() => exit_code,
        };
        // Something ended the shell inside, perhaps the step itself, perhaps just after it was done.
        self.kill().await?;
        let marks = self.drain().await;
        let marked = marks.into_iter().find_map(|mark| match mark {
            Mark::Ended(exit_code) => Some(exit_code),
            Mark::Ready => None,
        });
        // A shell that was ended by the job is no success, whatever it said.
        Ok(marked.unwrap_or(if exit_code == 0 { 1 } else { exit_code }))
    }

    /// SIGTERM, then time to end. What is left afterwards is killed by whoever called.
    async fn calm(&mut self, grace: Duration) -> Calm {
        let mut agent = self.agent.clone();
        tokio::select! {
            biased;
            () = agent.lease_over() => Calm::LeaseOver,
            calm = tokio::time::timeout(grace, self.quieten()) => match calm {
                Ok(()) => Calm::Quiet,
                Err(_) => Calm::GraceOver,
            },
        }
    }

    /// Asks every process to end and waits until all have. Where nothing of the job has run, little or nothing is waited for.
    async fn quieten(&mut self) {
        match &mut self.executor {
            Some(executor) if self.ready => executor.terminate().await,
            Some(_) => return, // the walls need no grace
            None => {
                Tree::own().terminate(&[]);
                let _ = tokio::time::timeout(PREPARING_GRACE, self.until_quiet()).await;
                return;
            }
        }
        self.until_quiet().await;
    }

    /// Bounded by the grace of whoever waits for it.
    async fn until_quiet(&mut self) {
        while !self.is_quiet().await {
            tokio::time::sleep(QUIET_PAUSE).await;
        }
    }

    async fn is_quiet(&mut self) -> bool {
        match &mut self.executor {
            Some(executor) => executor.is_quiet().await,
            None => Tree::own().is_quiet(&[]),
        }
    }
}

fn infra(problem: Problem) -> Finish {
    Finish::Infra { problem: problem.text() }
}

/// Unlike that of any other job, so that a job which runs a runner inside does not confuse the two.
fn word() -> String {
    let moment = Uptime::from_start(Duration::ZERO).until(Uptime::now());
    format!("{}-{}", std::process::id(), moment.as_nanos())
}
