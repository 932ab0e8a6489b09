//! Logs as they grow: of one job, or of all jobs of a run side by side.

use std::collections::{HashMap, HashSet, VecDeque};
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use wire::JobId;
use wire::api::{JobView, RunView};

use super::followed::Printed;
use super::prefix;
use crate::api::{ApiError, Followed, Follower, Server};
use crate::outcome::run_is_over;
use crate::output::progress;
use crate::view::log::LogText;
use crate::view::run::why;
use crate::view::screen::{Screen, Style};
use crate::view::state::{self, Look};
use crate::wait::Patience;
use crate::{details, outcome, wait};

/// Jobs of a run that are followed at a time; others wait for their turn.
const FOLLOWED_MAX: usize = 64;

/// How late a job that began is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub async fn of_job(server: &Server, id: &str, json: bool) -> Result<ExitCode> {
    let job = server.job(id).await?;
    progress(&waiting(&job.state));
    let mut printed = Printed::new(id.into(), job.name, LogText::new(Screen::stdout(), None), json);
    let mut follower = Follower::of(server.clone(), id);
    loop {
        let followed = follower.next().await?;
        progress("");
        printed.print(&followed)?;
        if matches!(followed, Followed::End(_)) {
            break;
        }
    }
    let job = wait::for_job(server, id).await?; // it is over; a server that restarts just now is waited for
    if !json {
        conclude_job(&job);
    }
    Ok(outcome::of_job(&job).into())
}

/// Until something is printed.
fn waiting(state: &str) -> String {
    let look = Look::of(state).painted(Screen::stderr());
    format!("{look} {}", Screen::stderr().paint(Style::Dim, "nothing printed yet"))
}

fn conclude_job(job: &JobView) {
    let why = job.attempts.last().map(why).unwrap_or_default();
    eprintln!("{}", format!("{}  {why}", Look::of(&job.state).painted(Screen::stderr())).trim_end());
}

pub async fn of_run(server: &Server, id: &str, json: bool) -> Result<ExitCode> {
    let mut board = Board::new(server.clone(), json);
    let mut patience = Patience::default();
    let run = loop {
        match server.run(id).await {
            Ok(run) => {
                patience = Patience::default();
                board.look(&run);
                if board.seen.is_empty() {
                    progress(&waiting(state::of_run(&run.run)));
                }
                if run_is_over(&run.run) && board.is_empty() {
                    break run;
                }
            }
            Err(error) => patience.lose(error).await?,
        }
        board.print_for(LOOK_EVERY).await?;
    };
    progress("");
    if !json {
        eprintln!("{}", Look::of(state::of_run(&run.run)).painted(Screen::stderr()));
    }
    let details = details::of_failed(server, &run).await?;
    Ok(outcome::of_run(&run, &details).into())
}

type Next = (JobId, Follower, Result<Followed, ApiError>);

/// The jobs of a run that are followed.
struct Board {
    server: Server,
    json: bool,
    printed: HashMap<JobId, Printed>,
    seen: HashSet<JobId>,
    waiting: VecDeque<JobId>,
    following: FuturesUnordered<Pin<Box<dyn Future<Output = Next>>>>,
}

impl Board {
    fn new(server: Server, json: bool) -> Board {
        Board {
            server,
            json,
            printed: HashMap::new(),
            seen: HashSet::new(),
            waiting: VecDeque::new(),
            following: FuturesUnordered::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.following.is_empty() && self.waiting.is_empty()
    }

    /// Jobs that have begun since the last look are followed. One that never began has nothing to say.
    fn look(&mut self, run: &RunView) {
        let screen = Screen::stdout();
        for job in run.jobs.iter().filter(|job| job.state != "PENDING" && job.attempts > 0) {
            if self.seen.insert(job.id) {
                let log = LogText::new(screen, Some(prefix(screen, job, &run.jobs)));
                let printed = Printed::new(job.id.to_string(), job.name.clone(), log, self.json);
                self.printed.insert(job.id, printed);
                self.waiting.push_back(job.id);
            }
        }
        self.fill();
    }

    fn fill(&mut self) {
        while self.following.len() < FOLLOWED_MAX {
            let Some(id) = self.waiting.pop_front() else { return };
            let follower = Follower::of(self.server.clone(), &id.to_string());
            self.go_on(id, follower);
        }
    }

    fn go_on(&mut self, id: JobId, mut follower: Follower) {
        self.following.push(Box::pin(async move {
            let followed = follower.next().await;
            (id, follower, followed)
        }));
    }

    /// Prints what comes, for a while.
    async fn print_for(&mut self, time: Duration) -> Result<()> {
        let mut over = std::pin::pin!(tokio::time::sleep(time));
        loop {
            let (id, follower, followed) = tokio::select! {
                () = &mut over => return Ok(()),
                Some(next) = self.following.next(), if !self.following.is_empty() => next,
            };
            let followed = followed?;
            progress("");
            if let Some(printed) = self.printed.get_mut(&id) {
                printed.print(&followed)?;
            }
            if matches!(followed, Followed::End(_)) {
                self.printed.remove(&id);
                self.fill();
            } else {
                self.go_on(id, follower);
            }
        }
    }
}
