//! `{commit}` and `{branch}`: filled in where a pipeline may name them.

use decisions::records::Concurrency;

use crate::facts::Facts;

/// What stands for a branch that is not known, such as that of a detached head.
const NO_BRANCH: &str = "no-branch";
/// Letters of the tree's digest that stand for a commit that is not known, such as that of a plain folder.
const TREE_LETTERS: usize = 16;

/// A published version must be known by something, so what is not known gets a word of its own: a folder without
/// commits is known by its files. A branch's name may hold what a version's cannot: `feature/x` becomes `feature-x`.
pub fn version(text: &str, facts: &Facts, files: impl FnOnce() -> Option<[u8; 32]>) -> String {
    let tree = || match files() {
        Some(digest) => format!("tree-{}", &wire::Digest::from_bytes(digest).hex()[..TREE_LETTERS]),
        None => "tree-empty".into(),
    };
    let commit = facts.commit.clone().unwrap_or_else(tree);
    let branch = nameable(facts.branch.as_deref().unwrap_or(NO_BRANCH));
    filled(text, |name| match name {
        "commit" => Some(commit.as_str()),
        "branch" => Some(branch.as_str()),
        _ => None,
    })
}

/// With `-` for every letter that a version's name cannot hold.
fn nameable(branch: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "._+-".contains(letter);
    branch.chars().map(|letter| if fits(letter) { letter } else { '-' }).collect()
}

/// Runs whose branch or commit is not known share no group: none of them shall cancel another.
pub fn group(concurrency: Option<&Concurrency>, facts: &Facts) -> Option<Concurrency> {
    let Concurrency { group, cancel } = concurrency?;
    let mut known = true;
    let group = filled(group, |name| {
        let value = match name {
            "commit" => facts.commit.as_deref(),
            "branch" => facts.branch.as_deref(),
            _ => return None,
        };
        known &= value.is_some();
        value
    });
    known.then_some(Concurrency { group, cancel: *cancel })
}

/// Replaces `{name}` where there is a value, unless a `$` stands before it. Other braces stay.
fn filled<'a>(text: &str, mut value: impl FnMut(&str) -> Option<&'a str>) -> String {
    let (mut done, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(open) = rest.find('{') {
        let (before, after) = rest.split_at(open);
        done.push_str(before);
        let name = after[1..].split_once('}').map(|(name, _)| name);
        match name.filter(|_| !before.ends_with('$')).and_then(|name| Some((name, value(name)?))) {
            Some((name, value)) => {
                done.push_str(value);
                rest = &after[name.len() + 2..];
            }
            None => {
                done.push('{');
                rest = &after[1..];
            }
        }
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_is_replaced() {
        let value = |name: &str| match name {
            "commit" => Some("c1"),
            _ => None,
        };
        for (text, expected) in [
            ("{commit}", "c1"),
            ("v-{commit}-{commit}", "v-c1-c1"),
            ("${commit} {other} {", "${commit} {other} {"),
            ("{{commit}}", "{c1}"),
            ("{a{commit}", "{ac1"),
        ] {
            assert_eq!(filled(text, value), expected);
        }
    }
}
