//! States as people read them: a sign, words, a colour.

use wire::api::RunSummary;

use super::screen::{Screen, Style, one_line};

pub struct Look {
    pub sign: &'static str,
    pub words: String,
    pub style: Style,
}

impl Look {
    /// Of a state of any machine; one that a newer server made up looks plain.
    pub fn of(state: &str) -> Look {
        let (sign, style) = match state {
            "SUCCESS" | "SUCCEEDED" | "COMPLETED" | "COMMITTED" | "DONE" | "ready" | "active"
            | "published" | "committed" | "done" => ("✓", Style::Green),
            "FAILED" | "TIMEOUT" | "TIMED_OUT" | "PLAN_FAILED" | "STALE" | "EXPIRED" | "ABORTED"
            | "aborted" | "failed" => ("✗", Style::Red),
            "RUNNING" | "STARTING" | "LEASED" | "UPLOADING" | "PLANNING" | "IN_PROGRESS" | "GRANTED"
            | "ACTIVE" | "CANCEL_REQUESTED" | "running" => ("●", Style::Yellow),
            "CANCELED" | "REVOKED" | "revoked" | "tombstoned" => ("⊘", Style::Dim),
            "CREATED" | "QUEUED" | "PENDING" | "draft" => ("○", Style::Dim),
            _ => ("·", Style::Plain),
        };
        Look { sign, words: one_line(&state.to_lowercase().replace('_', " ")), style }
    }

    /// Sign and words.
    pub fn text(&self) -> String {
        format!("{} {}", self.sign, self.words)
    }

    pub fn painted(&self, screen: Screen) -> String {
        screen.paint(self.style, &self.text())
    }
}

/// Where a run is: its outcome once it has one, whether or not the world has been told.
pub fn of_run(run: &RunSummary) -> &str {
    run.outcome.as_deref().unwrap_or(&run.state)
}
