//! What somebody who wrote a wrong name may have meant.

/// The candidate that differs by the fewest letters, if those are few; of several, the first. Names of more letters than
/// `letters_max` are not compared: the cost grows with the square.
pub fn closest<'a>(
    text: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    letters_max: usize,
) -> Option<&'a str> {
    let length = text.chars().count();
    if length > letters_max {
        return None;
    }
    let (text, most) = (text.to_lowercase(), 1.max(length / 3));
    let near = candidates.into_iter().filter(|name| name.len() <= letters_max * 4);
    let near = near.filter(|name| differ_at_least(&text, name) <= most).map(|name| {
        let distance = strsim::osa_distance(&text, &name.to_lowercase());
        (distance, name)
    });
    let (distance, name) = near.min_by_key(|(distance, _)| *distance)?;
    // A name of which nothing is left is another one.
    (distance <= most && distance < length).then_some(name)
}

/// Letters of one that the other does not have: never more than the distance, and quickly counted.
fn differ_at_least(text: &str, name: &str) -> usize {
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
    fn a_slip_is_recognised_and_another_word_is_not() {
        for (text, meant) in [
            ("lnt", Some("lint")),
            ("Lint", Some("lint")),
            ("ilnt", Some("lint")),
            ("dploy", Some("deploy")),
            ("y", None),
            ("", None),
            ("lintlintlint", None),
        ] {
            assert_eq!(closest(text, ["lint", "deploy", "x"], 10), meant, "{text}");
        }
    }
}
