//! Lines about a job's artifacts for its log: each said once, and not more than a reader takes in.

use std::collections::BTreeSet;

const NOTES_MAX: usize = 20;

#[derive(Debug, Default)]
pub struct Notes {
    lines: Vec<String>,
    said: BTreeSet<String>,
    left_out: usize,
}

impl Notes {
    pub fn add(&mut self, line: impl Into<String>) {
        let line = line.into();
        if self.lines.len() >= NOTES_MAX {
            self.left_out += 1;
        } else if self.said.insert(line.clone()) {
            self.lines.push(line);
        }
    }

    pub fn lines(self) -> Vec<String> {
        let mut lines = self.lines;
        if self.left_out > 0 {
            lines.push(format!("and {} more of the kind", self.left_out));
        }
        lines
    }
}

/// Somebody else's path on one line of ours.
pub fn shown(path: &str) -> String {
    path.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}
