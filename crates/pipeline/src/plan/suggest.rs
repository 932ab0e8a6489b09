//! What somebody who wrote a wrong name may have meant.

/// Names longer than this are not compared: the cost grows with the square.
const LENGTH_MAX: usize = 100;

/// The name that differs least, if it differs little; of several, the first.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong: Vec<char> = wrong.to_lowercase().chars().collect();
    if wrong.len() > LENGTH_MAX {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for name in names {
        let letters: Vec<char> = name.to_lowercase().chars().take(LENGTH_MAX + 1).collect();
        let begins = !wrong.is_empty() && letters.len() <= LENGTH_MAX && letters.starts_with(&wrong);
        let distance = if begins { 1 } else { distance(&wrong, &letters) };
        let little = distance <= wrong.len().max(letters.len()) / 3;
        if (begins || little) && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

/// How many letters must be added, taken away or replaced.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replaced = corner + usize::from(left != right);
            corner = row[j + 1];
            row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let names = ["lint", "unit-tests (debug)", "unit-tests (release)", "deploy"];
        for (wrong, meant) in [
            ("lnt", Some("lint")),
            ("Lint", Some("lint")),
            ("unit-tests", Some("unit-tests (debug)")),
            ("dploy", Some("deploy")),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, names), meant, "{wrong}");
        }
    }
}
