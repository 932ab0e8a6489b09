//! The client commands against a real server with real runners.

mod cancel;
mod explain;
mod logs;
mod looks;
mod rerun;
mod screens;
mod tenants;
mod tokens;
mod trigger;
mod trouble;

use crate::harness::{Site, wait_until};

/// The state of a run, as `show` tells it.
fn state_of(site: &Site, run: &str) -> String {
    let run = site.json(&["show", run]);
    run["outcome"].as_str().or(run["state"].as_str()).unwrap().into()
}

fn wait_for_state(site: &Site, run: &str, state: &str) {
    wait_until(&format!("{run} is {state}"), || state_of(site, run) == state);
}

/// The id of a run's job.
fn job_of(site: &Site, run: &str, name: &str) -> String {
    let run = site.json(&["show", run]);
    let jobs = run["jobs"].as_array().unwrap();
    jobs.iter().find(|job| job["name"] == name).unwrap()["id"].as_str().unwrap().into()
}
