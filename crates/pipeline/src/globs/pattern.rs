//! One pattern: whether it can be used, and which folder it begins with.

use globset::{Glob, GlobBuilder};

pub const BYTES_MAX: usize = 4096;

/// Whether a list may hold this entry; if not, what to do about it.
pub fn check(entry: &str) -> Result<(), String> {
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
pub fn normal(text: &str) -> Result<&str, String> {
    let text = text.strip_prefix("./").unwrap_or(text);
    if text.len() > BYTES_MAX {
        return Err(format!("a pattern has at most {BYTES_MAX} bytes"));
    }
    if text.starts_with('/') {
        return Err("a pattern is relative to the root of the repository: leave the first `/` out".into());
    }
    // Also within braces: `{..,a}/b` would be `../b`.
    if text.split(['/', '{', '}', ',']).any(|part| part == "..") {
        return Err("a pattern may not lead out of the repository with `..`".into());
    }
    if text.is_empty() || text.ends_with('/') {
        return Err("a pattern names files; for all in a folder write `folder/**`".into());
    }
    compiled(text).map(|_| text)
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
    fn what_makes_no_sense_is_refused_with_what_to_do() {
        for bad in ["/etc/*", "../x", "a/../../x", "{..,a}/x", "!", "", "a/", "[", "{a", "a\\"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        for good in ["./a", "!a/**", "**", "a,b", "{a,}", "a/!b"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }
}
