//! A local run as plain lines, or as one event per line.

use std::time::Duration;

use serde_json::json;

use super::happening::{Happening, JobLine, Show};

/// Lines for people on stderr, or events for programs on stdout. Nothing moves, whether asked for or not.
pub fn show(json: bool, _plain: bool) -> Box<dyn Show> {
    if json { Box::new(Events) } else { Box::new(Lines) }
}

struct Lines;
struct Events;

impl Show for Lines {
    fn happened(&mut self, happening: &Happening, _: Duration) {
        match happening {
            Happening::Output { job, bytes } => {
                String::from_utf8_lossy(bytes).lines().for_each(|line| eprintln!("{job} | {line}"));
            }
            other => eprintln!("{other:?}"),
        }
    }

    fn tick(&mut self, _: Duration) {}
}

impl Show for Events {
    fn happened(&mut self, happening: &Happening, _: Duration) {
        let line = match happening {
            Happening::RunEnded { run, state, jobs } => {
                let jobs: Vec<_> = jobs.iter().map(job).collect();
                json!({ "type": "run_finished", "run_id": run, "state": state, "jobs": jobs })
            }
            other => json!({ "type": "other", "text": format!("{other:?}") }),
        };
        println!("{line}");
    }

    fn tick(&mut self, _: Duration) {}
}

fn job(line: &JobLine) -> serde_json::Value {
    let JobLine { name, decision, state, attempts, duration_ms } = line;
    json!({ "name": name, "decision": decision, "state": state, "attempts": attempts, "duration_ms": duration_ms })
}
