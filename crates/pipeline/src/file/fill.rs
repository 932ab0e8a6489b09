//! Placeholders: `{name}` for a value of the job's matrix, `{commit}` and the like for what only the planner knows.
//! After a `$` a brace is the shell's.

use super::formats::code_of;
use super::nearest::nearest;
use crate::globs;
use crate::problem::{Code, Place, Problem, short};

/// One combination of a matrix: its keys and their values.
pub type Values<'a> = [(&'a str, &'a str)];

/// How much text there may still be.
pub struct Budget {
    all: usize,
    job: usize,
}

/// There is too much.
#[derive(Debug, PartialEq, Eq)]
pub enum Full {
    /// In this job.
    Job,
    /// In all of them together.
    All,
}

/// What a text costs beside its bytes.
const TEXT_COST: usize = 32;

impl Budget {
    pub fn new(bytes: usize) -> Budget {
        Budget { all: bytes, job: bytes }
    }

    pub fn next_job(&mut self, bytes: usize) {
        self.job = bytes;
    }

    /// A text of what the runner gets.
    pub fn text(&mut self, text: &str) -> Result<(), Full> {
        self.take(json_bytes(text) + TEXT_COST)
    }

    fn take(&mut self, bytes: usize) -> Result<(), Full> {
        self.job = self.job.checked_sub(bytes).ok_or(Full::Job)?;
        self.all = self.all.checked_sub(bytes).ok_or(Full::All)?;
        Ok(())
    }

    /// A job's name, or one that it needs: not part of what the runner gets.
    pub fn name(&mut self, name: &str) -> Result<(), Full> {
        self.all = self.all.checked_sub(name.len() + TEXT_COST).ok_or(Full::All)?;
        Ok(())
    }
}

/// What the runner gets is JSON, where some characters are longer.
fn json_bytes(text: &str) -> usize {
    let escapes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\t' | b'\r' => 1,
        0..0x20 | 0x7f => 5,
        _ => 0,
    });
    text.len() + escapes.sum::<usize>()
}

/// The text with the matrix's values; all other braces stay.
pub fn fill(text: &str, values: &Values<'_>, budget: &mut Budget) -> Result<String, Full> {
    budget.text(text)?;
    let (mut filled, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        let inside = &rest[at + 1..];
        let name = inside.find(['{', '}']).map(|end| &inside[..end]);
        let closed = name.filter(|name| inside[name.len()..].starts_with('}'));
        let found = closed.and_then(|name| values.iter().find(|(key, _)| *key == name));
        match found {
            Some((key, value)) if !filled.ends_with('$') => {
                budget.take(json_bytes(value))?;
                filled.push_str(value);
                rest = &inside[key.len() + 1..];
            }
            Some(_) | None => {
                filled.push('{');
                rest = inside;
            }
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

/// What may be left in braces after the matrix is filled in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// `{commit}` and `{branch}`.
    Origin,
    /// `{hash:GLOB}`.
    Hashes,
    Nothing,
}

/// A placeholder that means nothing would silently be the same text in every run.
pub fn check_rest(text: &str, rest: Rest, keys: &Values<'_>, place: Place) -> Result<(), Problem> {
    let mut after = text;
    while let Some(at) = after.find('{') {
        let shell = after[..at].ends_with('$');
        after = &after[at + 1..];
        if shell {
            continue;
        }
        let Some(length) = closing(after) else {
            let message = "a `{` is opened and not closed";
            let hint = "close it with `}`";
            return Err(Problem::new(Code::UnknownPlaceholder, place, message, "in this text", hint));
        };
        check_one(&after[..length], rest, keys, place)?;
        after = &after[length + 1..];
    }
    Ok(())
}

/// The length up to the brace that closes; patterns have braces of their own.
pub fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn check_one(name: &str, rest: Rest, keys: &Values<'_>, place: Place) -> Result<(), Problem> {
    let ours: &[&str] = match rest {
        Rest::Origin => &["commit", "branch"],
        Rest::Hashes => &["hash:GLOB"],
        Rest::Nothing => &[],
    };
    if rest == Rest::Origin && ours.contains(&name) {
        return Ok(());
    }
    if let (Rest::Hashes, Some(pattern)) = (rest, name.strip_prefix("hash:")) {
        return globs::normal(pattern).map(drop).map_err(|bad| {
            let message = format!("the pattern `{}` cannot be used", short(pattern));
            let hint = "name files of the repository, as in `{hash:**/Cargo.lock}`";
            Problem::new(code_of(&bad), place, message, bad.to_string(), hint)
        });
    }
    let known: Vec<&str> = ours.iter().copied().chain(keys.iter().map(|(key, _)| *key)).collect();
    let hint = match nearest(before_colon(name), known.iter().copied().map(before_colon)) {
        Some("hash") => "did you mean `{hash:GLOB}`?".into(),
        Some(meant) => format!("did you mean `{{{meant}}}`?"),
        None if known.is_empty() => {
            "only keys of the job's matrix are filled in here, and it has none".into()
        }
        None => {
            let known: Vec<_> = known.iter().map(|name| format!("`{{{name}}}`")).collect();
            format!("filled in here: {}", known.join(", "))
        }
    };
    let message = format!("`{{{}}}` means nothing here", short(name));
    Err(Problem::new(Code::UnknownPlaceholder, place, message, "in this text", hint))
}

/// Of `hash:GLOB`, the word.
fn before_colon(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let values = [("profile", "release"), ("v", "{profile}")];
        fill(text, &values, &mut Budget::new(1_000)).expect("room")
    }

    #[test]
    fn only_keys_of_the_matrix_are_filled_in() {
        for (text, expected) in [
            ("cargo test --profile {profile}", "cargo test --profile release"),
            ("{profile}{profile}", "releaserelease"),
            ("${profile} $({profile})", "${profile} $(release)"),
            ("{other} {a,b} {} { {{profile}}", "{other} {a,b} {} { {release}"),
            ("{hash:{profile}/x}", "{hash:release/x}"),
            ("{v}", "{profile}"),
            ("{profile", "{profile"),
            ("awk '{print $1}'", "awk '{print $1}'"),
            ("ü{profile}ü", "üreleaseü"),
        ] {
            assert_eq!(filled(text), expected, "{text}");
        }
    }

    #[test]
    fn filling_in_stops_when_there_is_too_much() {
        let long = "x".repeat(100);
        let mut budget = Budget::new(2_000);
        assert!(fill(&"{a}".repeat(100), &[("a", &long)], &mut budget).is_err());
    }

    #[test]
    fn what_is_left_must_mean_something() {
        let hint = |text: &str, rest| {
            let keys = [("profile", "release")];
            check_rest(text, rest, &keys, Place::START).err().and_then(|problem| problem.hint)
        };
        assert_eq!(hint("x-{commit}-{branch}", Rest::Origin), None);
        assert_eq!(hint("{hash:**/{a,b}.lock}:${shell}", Rest::Hashes), None);
        assert_eq!(hint("{brnch}", Rest::Origin), Some("did you mean `{branch}`?".into()));
        assert_eq!(hint("{prfile}", Rest::Hashes), Some("did you mean `{profile}`?".into()));
        assert_eq!(hint("{commit}", Rest::Hashes), Some("filled in here: `{hash:GLOB}`, `{profile}`".into()));
        assert!(hint("{hash:../x}", Rest::Hashes).is_some_and(|hint| hint.contains("name files")));
        assert_eq!(hint("{hash:x", Rest::Hashes), Some("close it with `}`".into()));
    }
}
