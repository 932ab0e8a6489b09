//! The keeper's own life: hear the order, run the job, leave no process behind, say how it ended, go.
//!
//! One thread: children are noted before anyone can reap them, and a sandbox dies with the thread that made it.
//!
//! No death signal is set for the case that the agent dies: SIGKILL would leave the job's processes to init, and the
//! kernel ties such a signal to the thread of the agent that started us. The end of our input says the same and leaves
//! time to clean up.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use super::course::Course;
use super::link::{Agent, Reports};
use super::order::{Finish, Report};
use super::reaper::Reaper;

/// For what is still to be said when the lease is over: a frozen agent would never take it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The main function of `deltaci keep`.
pub fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    match runtime.and_then(|runtime| runtime.block_on(serve())) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("keeper: {error}. `deltaci keep` is started by `deltaci runner`, not by hand");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> io::Result<ExitCode> {
    // From here on every orphan of the job is ours.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // No terminal to ask questions on, and no Ctrl-C meant for the agent. Fails when we already lead a session.
    let _ = rustix::process::setsid();
    // The agent alone decides when a job ends. Handlers, not ignored signals: those would be inherited by the job.
    let _deaf =
        [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?];
    let reaper = Reaper::start()?;
    let Some((order, agent)) = Agent::listen().await? else {
        return Ok(ExitCode::SUCCESS);
    };
    let (reports, writer) = Reports::open()?;
    let mut course = Course::new(order, agent.clone(), reports, reaper);
    let finish = course.run().await;
    let clean = course.kill().await;
    let finish = match &clean {
        Ok(()) => finish,
        Err(problem) => Finish::Infra { problem: problem.clone().text() },
    };
    let places = course.places();
    let last_words = async {
        course.drain().await;
        if finish == Finish::Succeeded {
            course.save_caches().await;
        }
        course.reports.send(Report::Finished(finish)).await;
        drop(course); // and with it the last sender, so that the writer comes to an end
        let _ = writer.await;
    };
    tokio::select! {
        () = last_words => {}
        () = long_over(agent) => {}
    }
    // Last: it may take a while, and the agent need not wait for it to know how the job ended.
    if let Some(places) = places {
        places.remove_scratch();
    }
    Ok(if clean.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn long_over(mut agent: Agent) {
    agent.lease_over().await;
    tokio::time::sleep(LAST_WORDS).await;
}
