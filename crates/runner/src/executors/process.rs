//! Plain processes of the runner's user. No walls: for jobs one trusts like oneself.

use std::process::Command;

use super::limits::Cage;
use super::{Executor, Job, Output, inside, local};
use crate::keeper::{Problem, environment};

pub fn open(job: Job<'_>) -> Result<(Box<dyn Executor>, Output), Problem> {
    let cage = Cage::make(&job.order.limits);
    let mut command = cage.command(inside::command(job.word, &job.order.steps));
    environment_into(&mut command, &job);
    command.current_dir(&job.places.workdir);
    local::open(command, &job, Some(cage))
}

fn environment_into(command: &mut Command, job: &Job<'_>) {
    let defaults = [
        ("PATH", environment::host_path()),
        ("HOME", job.places.home.to_string_lossy().into_owned()),
        ("TMPDIR", job.places.temporary.to_string_lossy().into_owned()),
    ];
    let all = environment::with_defaults(job.environment.clone(), defaults);
    command.env_clear().envs(all).envs(environment::keeper_word());
}
