//! One pattern: whether it can be used, and which folder it begins with.

use globset::{Glob, GlobBuilder};

pub const BYTES_MAX: usize = 4096;

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadGlob {
    #[error("a pattern has at most {BYTES_MAX} bytes")]
    TooLong,
    #[error("patterns are relative to the repository")]
    Absolute,
    #[error("`..` leads out of the repository")]
    LeadsOut,
    #[error("for all files of a folder write `folder/**`")]
    NamesNoFile,
    #[error("{0}")]
    Unreadable(String),
}

/// Whether a list may hold this entry.
pub fn check(entry: &str) -> Result<(), BadGlob> {
    let (_, text) = parts(entry);
    normal(text).map(drop)
}

/// The pattern for all files below a folder; the root has no name.
pub fn folder(name: &str) -> String {
    if name.is_empty() { "**".into() } else { literal(name) + "/**" }
}

/// The pattern for this very path, whatever letters it has.
pub fn literal(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for letter in name.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

/// Whether the entry takes files away, and its pattern.
pub fn parts(entry: &str) -> (bool, &str) {
    match entry.strip_prefix('!') {
        Some(text) => (true, text),
        None => (false, entry),
    }
}

/// The pattern without what means nothing.
pub fn normal(text: &str) -> Result<&str, BadGlob> {
    let text = text.strip_prefix("./").unwrap_or(text);
    if text.len() > BYTES_MAX {
        return Err(BadGlob::TooLong);
    }
    if text.starts_with('/') {
        return Err(BadGlob::Absolute);
    }
    // Also within braces: `{..,a}/b` would be `../b`.
    if text.split(['/', '{', '}', ',']).any(|part| part == "..") {
        return Err(BadGlob::LeadsOut);
    }
    if text.is_empty() || text.ends_with('/') {
        return Err(BadGlob::NamesNoFile);
    }
    compiled(text).map(|_| text).map_err(BadGlob::Unreadable)
}

pub fn compiled(text: &str) -> Result<Glob, String> {
    GlobBuilder::new(text)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| error.kind().to_string())
}

/// The folder that everything it matches lies in, and what is left of the pattern.
pub fn split(text: &str) -> (&str, &str) {
    let special = text.find(['*', '?', '[', ']', '{', '}', '\\']).unwrap_or(text.len());
    match text[..special].rfind('/') {
        Some(slash) => (&text[..slash], &text[slash + 1..]),
        None => ("", text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_cut_before_its_first_special_letter() {
        for (text, folder, rest) in [
            ("a/b/*.rs", "a/b", "*.rs"),
            ("a/b", "a", "b"),
            ("**", "", "**"),
            ("a*/b", "", "a*/b"),
            ("a/{b/c,d}/e", "a", "{b/c,d}/e"),
            ("a/\\*/b", "a", "\\*/b"),
        ] {
            assert_eq!(split(text), (folder, rest), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for bad in ["/etc/*", "../x", "a/../../x", "{..,a}/x", "!", "", "a/", "[", "{a", "a\\"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        for good in ["./a", "!a/**", "**", "a,b", "{a,}", "a/!b"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }
}
