//! The processes of a job, found by a word in their environment.

use std::fs;

use crate::e2e::patience::until_so;

/// The variable that a test's jobs carry.
pub const VARIABLE: &str = "E2E_MARK";

/// The processes that carry this mark. One that is dead but not collected has no environment any more.
pub fn marked(mark: &str) -> Vec<u32> {
    let entry = format!("{VARIABLE}={mark}").into_bytes();
    let processes = fs::read_dir("/proc").expect("there is /proc").flatten();
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse::<u32>().ok());
    let carries = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == entry)
    };
    pids.filter(carries).collect()
}

#[track_caller]
pub fn until_gone(mark: &str) {
    until_so("the job's processes are gone", || marked(mark).is_empty());
}
