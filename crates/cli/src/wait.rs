//! Waiting until a run or job is over, with a line on stderr for each job that ends, and for what keeps one from beginning.
//! A server that restarts meanwhile is waited for, within a bound.

use std::collections::HashSet;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use server::Clock;
use tokio::signal::unix::{SignalKind, signal};
use wire::api::{JobView, RunView};
use wire::{JobId, Time};

use crate::api::{ApiError, Server};
use crate::outcome::{job_is_over, run_is_over};
use crate::output::{Exit, progress};
use crate::view::screen::{Screen, Style, one_line, width};
use crate::view::state::{self, Look};
use crate::view::time::took;
use crate::view::ways::Ways;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(400);
/// A run of many jobs is a large answer.
const LOOK_AT_MANY_EVERY: Duration = Duration::from_secs(3);
const MANY: usize = 200;

/// While nothing is at work, how often it is asked why.
const ASK_WHY_EVERY: Duration = Duration::from_secs(5);

/// Tries in a row that the server may miss.
const TRIES_MAX: u32 = 60;
const PAUSE: Duration = Duration::from_secs(1);

/// Until the run is over.
pub async fn for_run(server: &Server, id: &str) -> Result<RunView> {
    let mut watch = Watch { clock: Clock::start(), told: HashSet::new(), screen: Screen::stderr() };
    let (mut still, mut patience) = (Still::new(watch.clock), Patience::default());
    loop {
        let run = match server.run(id).await {
            Ok(run) => run,
            Err(error) => {
                patience.lose(error).await?;
                continue;
            }
        };
        patience = Patience::default();
        watch.tell(&run);
        if run_is_over(&run.run) {
            progress("");
            return Ok(run);
        }
        still.explain(server, waiting_job(&run)).await;
        tokio::time::sleep(if run.jobs.len() > MANY { LOOK_AT_MANY_EVERY } else { LOOK_EVERY }).await;
    }
}

/// Until the job is over.
pub async fn for_job(server: &Server, id: &str) -> Result<JobView> {
    let (mut still, mut patience) = (Still::new(Clock::start()), Patience::default());
    loop {
        match server.job(id).await {
            Ok(job) if job_is_over(&job.state) => {
                progress("");
                return Ok(job);
            }
            Ok(job) => {
                progress(&Look::of(&job.state).painted(Screen::stderr()));
                patience = Patience::default();
                still.explain(server, (job.state == "PENDING").then(|| job.id.clone())).await;
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Err(error) => patience.lose(error).await?,
        }
    }
}

/// Ctrl-C ends the looking on, and not what is looked at: whoever presses it is told so.
pub async fn unless_interrupted(
    server: &Server,
    id: &str,
    watching: impl Future<Output = Result<ExitCode>>,
) -> Result<ExitCode> {
    let mut interrupt = signal(SignalKind::interrupt()).context("signals cannot be heard")?;
    tokio::select! {
        over = watching => over,
        _ = interrupt.recv() => {
            progress("");
            match server.ways {
                Ways::Server => eprintln!("{id} goes on; cancel it with `deltaci cancel {id}`"),
                Ways::Records { .. } => eprintln!("{id} goes on, as long as its `deltaci run` does"),
            }
            Ok(Exit::Interrupted.into())
        }
    }
}

/// With a server that does not answer.
#[derive(Default)]
pub struct Patience {
    tries: u32,
}

impl Patience {
    /// Pauses before the next try, or gives up.
    pub async fn lose(&mut self, error: ApiError) -> Result<(), ApiError> {
        self.tries += 1;
        if !error.passing || self.tries >= TRIES_MAX {
            return Err(error);
        }
        progress("the server does not answer; waiting for it");
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}

/// The first that could begin, if none is at work.
fn waiting_job(run: &RunView) -> Option<String> {
    let is_at_work = run.jobs.iter().any(|job| job.state == "RUNNING");
    let mut waiting = run.jobs.iter().filter(|job| job.state == "PENDING" && job.attempts > 0);
    waiting.next().filter(|_| !is_at_work).map(|job| job.id.to_string())
}

/// Nothing is at work. The server knows why.
struct Still {
    clock: Clock,
    since: Time,
    told: String,
}

impl Still {
    fn new(clock: Clock) -> Still {
        Still { clock, since: clock.now(), told: String::new() }
    }

    /// Says why a job does not begin, when it has not for a while; once, until the reason is another.
    async fn explain(&mut self, server: &Server, waiting: Option<String>) {
        let now = self.clock.now();
        if waiting.is_none() {
            self.since = now; // something is at work
        }
        let Some(id) = waiting.filter(|_| now.since(self.since) >= ASK_WHY_EVERY) else { return };
        self.since = now;
        let Ok(job) = server.job(&id).await else { return };
        let Some(attempt) = job.attempts.last().filter(|attempt| attempt.finished_at.is_none()) else {
            return;
        };
        if !attempt.explanation.is_empty() && attempt.explanation != self.told {
            progress("");
            eprintln!("· {}  {}", one_line(&job.name), one_line(&attempt.explanation));
            self.told = attempt.explanation.clone();
        }
    }
}

/// What was said about a run so far.
struct Watch {
    clock: Clock,
    told: HashSet<JobId>,
    screen: Screen,
}

impl Watch {
    fn tell(&mut self, run: &RunView) {
        let names = run.jobs.iter().map(|job| width(&one_line(&job.name))).max().unwrap_or(0);
        for job in run.jobs.iter().filter(|job| job_is_over(&job.state)) {
            if self.told.insert(job.id) {
                let name = one_line(&job.name);
                let padding = " ".repeat(names - width(&name));
                let look = Look::of(&job.state);
                progress("");
                let words = if job.required { look.words } else { format!("{} (optional)", look.words) };
                eprintln!("{} {name}{padding}  {words}", self.screen.paint(look.style, look.sign));
            }
        }
        progress(&self.line(run));
    }

    fn line(&self, run: &RunView) -> String {
        let count = |state: &str| run.jobs.iter().filter(|job| job.state == state).count();
        let look = Look::of(state::of_run(&run.run));
        let since = took(self.clock.now().since(run.run.created_at));
        let counts = format!("{} running, {} waiting, {since}", count("RUNNING"), count("PENDING"));
        format!("{} {}", look.painted(self.screen), self.screen.paint(Style::Dim, &counts))
    }
}
