//! What somebody may have meant.

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

/// The candidate that differs by the fewest letters, if those are few.
pub fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let length = text.chars().count();
    if length > LENGTH_MAX {
        return None;
    }
    let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == text);
    if let Some(found) = elsewhere.and_then(|(_, ours)| candidates.clone().find(|name| name == ours)) {
        return Some(found);
    }
    let (text, most) = (text.to_lowercase(), 1.max(length / 3));
    let near = candidates.filter(|name| differ_at_least(&text, name) <= most).map(|name| {
        let distance = strsim::osa_distance(&text, &name.to_lowercase());
        (distance, name)
    });
    let (distance, name) = near.min_by_key(|(distance, _)| *distance)?;
    (distance <= most).then_some(name)
}

/// Letters of one that the other does not have: never more than the distance, and quickly counted.
fn differ_at_least(text: &str, name: &str) -> usize {
    if name.len() > LENGTH_MAX * 4 {
        return usize::MAX;
    }
    let mut counts = [0_i32; 128];
    let mut count = |text: &str, step: i32| {
        for letter in text.chars() {
            // All letters beyond ASCII count as one, which only makes texts look nearer.
            let place = if letter.is_ascii() { letter.to_ascii_lowercase() as usize } else { 0 };
            counts[place] += step;
        }
    };
    count(text, 1);
    count(name, -1);
    let more: i32 = counts.iter().filter(|count| **count > 0).sum();
    let less: i32 = counts.iter().filter(|count| **count < 0).sum();
    more.max(-less).unsigned_abs() as usize
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
