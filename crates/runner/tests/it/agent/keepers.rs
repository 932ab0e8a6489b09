//! Keepers without processes: each step says what to do.
//!
//! `print TEXT`, `spew BYTES`, `exit CODE`, `wait` (until it is told to stop), `stuck` (until it is killed), `time-out`,
//! `infra TEXT`, `vanish`, `sh SCRIPT` (in the workspace, for real); any other step succeeds.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runner::agent::{Hands, Hire};
use runner::clock::Uptime;
use runner::keeper::{ExecutorKind, Finish, Order, Report};
use tokio::sync::watch;

#[derive(Clone, Default)]
pub struct Keepers {
    pub seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
pub struct Seen {
    pub orders: Vec<Order>,
    pub extended: usize,
    pub canceled: usize,
    pub ended: usize,
}

pub struct FakeKeeper {
    seen: Arc<Mutex<Seen>>,
    workspace: PathBuf,
    steps: VecDeque<(u32, String)>,
    reports: VecDeque<Report>,
    canceled: watch::Sender<bool>,
    over: bool,
}

impl Hire for Keepers {
    type Hands = FakeKeeper;

    fn start(&self, order: Order) -> io::Result<FakeKeeper> {
        assert!(order.workspace.is_dir(), "the workspace is there");
        if order.steps.first().is_some_and(|step| step == "no-keeper") {
            return Err(io::Error::other("no such program"));
        }
        let why = "the test says so".into();
        let reports = VecDeque::from([Report::Chosen { executor: ExecutorKind::Process, why }]);
        let workspace = order.workspace.clone();
        let steps = (0..).zip(order.steps.clone()).collect();
        self.seen.lock().expect("not poisoned").orders.push(order);
        let canceled = watch::Sender::new(false);
        Ok(FakeKeeper { seen: self.seen.clone(), workspace, steps, reports, canceled, over: false })
    }
}

impl FakeKeeper {
    fn finish(&mut self, finish: Finish) {
        self.steps.clear();
        self.over = true;
        self.reports.push_back(Report::Finished(finish));
    }

    async fn next_step(&mut self) -> Option<()> {
        let Some((index, step)) = self.steps.front().cloned() else {
            self.finish(Finish::Succeeded);
            return Some(());
        };
        let (verb, rest) = step.split_once(' ').unwrap_or((&step, ""));
        match verb {
            "wait" => {
                let mut canceled = self.canceled.subscribe();
                canceled.wait_for(|canceled| *canceled).await.ok()?;
                self.finish(Finish::Canceled { forced: false });
                return Some(());
            }
            "stuck" => std::future::pending::<()>().await,
            "vanish" => return None,
            _ => {}
        }
        self.steps.pop_front();
        self.reports.push_back(Report::StepStarted { index });
        match verb {
            "sh" => {
                let shell = std::process::Command::new("sh")
                    .args(["-ec", rest])
                    .current_dir(&self.workspace)
                    .status();
                assert!(shell.expect("a shell").success(), "{rest}");
            }
            "print" => self.reports.push_back(Report::Output(format!("{rest}\n").into_bytes())),
            "spew" => {
                let bytes: usize = rest.parse().expect("a number");
                let letters: Vec<u8> = (0..bytes).map(|at| b'a' + (at % 23) as u8).collect();
                self.reports.extend(letters.chunks(64 * 1024).map(|part| Report::Output(part.into())));
            }
            "exit" => {
                let exit_code = rest.parse().expect("a number");
                self.reports.push_back(Report::StepEnded { index, exit_code });
                self.finish(Finish::StepFailed { index, exit_code });
                return Some(());
            }
            "time-out" => {
                self.finish(Finish::TimedOut);
                return Some(());
            }
            "infra" => {
                self.finish(Finish::Infra { problem: rest.into() });
                return Some(());
            }
            _ => {}
        }
        self.reports.push_back(Report::StepEnded { index, exit_code: 0 });
        // A step that waits is announced before it waits.
        if let Some((index, step)) = self.steps.front()
            && ["wait", "stuck"].contains(&step.as_str())
        {
            self.reports.push_back(Report::StepStarted { index: *index });
        }
        Some(())
    }
}

impl Hands for FakeKeeper {
    async fn extend(&self, _until: Uptime) {
        self.seen.lock().expect("not poisoned").extended += 1;
    }

    async fn cancel(&self, _grace: Duration) {
        self.seen.lock().expect("not poisoned").canceled += 1;
        self.canceled.send_replace(true);
    }

    async fn next(&mut self) -> Option<Report> {
        while self.reports.is_empty() {
            if self.over {
                return None;
            }
            self.next_step().await?;
        }
        self.reports.pop_front()
    }

    async fn end(&mut self) {
        if !std::mem::replace(&mut self.over, true) || self.reports.is_empty() {
            self.seen.lock().expect("not poisoned").ended += 1;
        }
    }
}
