//! What `run` and `runner` say alike of the places in which jobs run: how many, by which executor, on which threads.

use std::io;

use clap::ValueEnum;
use runner::keeper::Choice;
use tokio::runtime::{Builder, Runtime};

pub const SLOTS_MAX: i64 = 256;

/// Two, so that whatever holds one thread up does not hold the heartbeats up.
const THREADS: usize = 2;

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Executor {
    /// Docker when the job names an image and an engine answers, else sandbox, else process
    Auto,
    Process,
    Sandbox,
    Docker,
}

impl From<Executor> for Choice {
    fn from(executor: Executor) -> Choice {
        match executor {
            Executor::Auto => Choice::Auto,
            Executor::Process => Choice::Process,
            Executor::Sandbox => Choice::Sandbox,
            Executor::Docker => Choice::Docker,
        }
    }
}

pub fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()
}
