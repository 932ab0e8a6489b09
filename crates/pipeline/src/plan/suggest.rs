//! Which job somebody may have meant.

use crate::closest::closest;

/// Names longer than this are not compared.
const LENGTH_MAX: usize = 100;

/// The name that differs least, if it differs little; or one that begins so.
pub fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let begins = |name: &&str| !wrong.is_empty() && name.starts_with(wrong);
    closest(wrong, names.clone(), LENGTH_MAX).or_else(|| names.clone().find(begins))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_and_a_beginning_are_recognised() {
        let names = ["lint", "unit-tests (debug)", "unit-tests (release)", "deploy"];
        for (wrong, meant) in [
            ("lnt", Some("lint")),
            ("Lint", Some("lint")),
            ("unit-tests", Some("unit-tests (debug)")),
            ("dploy", Some("deploy")),
            ("unit", Some("unit-tests (debug)")),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, names.into_iter()), meant, "{wrong}");
        }
    }
}
