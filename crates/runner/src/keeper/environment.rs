//! The environment of a job, built from nothing: what is not listed here or in the job is not there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Problem;
use super::order::Order;
use super::sweep::VARIABLE;

const PATH_DEFAULT: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

pub type Environment = BTreeMap<String, String>;

/// What a job finds whatever runs it. Home, temporary folder and path are the executor's to add.
pub fn of(order: &Order) -> Result<Environment, Problem> {
    let ours = [
        ("LANG", "C.UTF-8"),
        ("CI", "true"),
        ("DELTACI", "true"),
        ("DELTACI_JOB", order.job.as_str()),
        ("DELTACI_EXECUTION", order.execution.as_str()),
    ];
    let ours = ours.map(|(name, value)| (name.to_owned(), value.to_owned()));
    for (name, value) in &order.env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(Problem::new(format!(
                "the job sets the variable {name:?}, which no environment can hold; rename it"
            )));
        }
    }
    Ok(ours.into_iter().chain(order.env.clone()).collect())
}

/// Adds what the job did not set itself.
pub fn with_defaults<'a>(
    mut environment: Environment,
    defaults: impl IntoIterator<Item = (&'a str, String)>,
) -> Environment {
    for (name, value) in defaults {
        environment.entry(name.to_owned()).or_insert(value);
    }
    environment
}

/// Where programs are found on this machine: as the agent sees them, so that what it detected is there.
pub fn host_path() -> String {
    std::env::var("PATH").unwrap_or_else(|_| PATH_DEFAULT.to_owned())
}

/// The word by which the agent finds our processes should we be killed.
pub fn keeper_word() -> Option<(&'static str, String)> {
    Some((VARIABLE, std::env::var(VARIABLE).ok()?))
}

/// A program on this machine, by its full path.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = host_path();
    let places = path.split(':').filter(|folder| folder.starts_with('/'));
    places.map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}
