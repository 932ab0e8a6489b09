//! What somebody may have meant.

use crate::closest::closest;

/// A typing mistake is short, and longer texts would cost time.
const LENGTH_MAX: usize = 40;

/// What other systems call it.
const ELSEWHERE: &[(&str, &str)] = &[
    ("script", "run"),
    ("steps", "run"),
    ("command", "run"),
    ("commands", "run"),
    ("depends_on", "needs"),
    ("dependencies", "needs"),
    ("requires", "needs"),
    ("environment", "env"),
    ("variables", "env"),
    ("container", "image"),
    ("working-directory", "workdir"),
    ("working_directory", "workdir"),
    ("timeout-minutes", "timeout"),
    ("timeout_minutes", "timeout"),
    ("continue-on-error", "allow_failure"),
    ("soft_fail", "allow_failure"),
    ("tags", "runs_on"),
    ("agents", "runs_on"),
    ("retries", "retry"),
    ("only", "paths"),
    ("changes", "paths"),
    ("strategy", "matrix"),
    ("pipeline", "jobs"),
    ("cancel-in-progress", "cancel"),
];

/// The candidate that other systems call so, or that differs by the fewest letters, if those are few.
pub fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == text);
    let known = elsewhere.and_then(|(_, ours)| candidates.clone().find(|name| name == ours));
    known.or_else(|| closest(text, candidates, LENGTH_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_a_stranger_is_not() {
        let names = ["needs", "run", "runs_on", "matrix", "timeout", "env"];
        for (text, meant) in [
            ("need", Some("needs")),
            ("nedes", Some("needs")),
            ("Needs", Some("needs")),
            ("runs-on", Some("runs_on")),
            ("marix", Some("matrix")),
            ("script", Some("run")),
            ("variables", Some("env")),
            ("stage", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(text, names.into_iter()), meant, "{text}");
        }
        assert_eq!(nearest(&"needs".repeat(100), names.into_iter()), None);
    }
}
