//! Names of refs, commits and bases, checked before git sees them: none may be read as an option, as more than one
//! name, or as a question of another kind.

use crate::Error;

const LENGTH_MAX: usize = 250;

/// The full name of a commit, as git prints it.
pub fn commit(name: &str) -> Result<&str, Error> {
    if is_commit(name) {
        return Ok(name);
    }
    refuse("commit", name, "give the full id, 40 hexadecimal digits")
}

pub fn is_commit(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|letter| matches!(letter, b'0'..=b'9' | b'a'..=b'f'))
}

/// A branch, a tag, or a ref by its full name, by the rules of git itself.
pub fn reference(name: &str) -> Result<&str, Error> {
    match strange(name) {
        Some(why) => refuse("branch, tag or ref", name, why),
        None => Ok(name),
    }
}

/// A commit by any of its names, with steps back: `main`, `v1.2`, `HEAD~3`, `topic^2`, an id.
pub fn revision(name: &str) -> Result<&str, Error> {
    let steps = name.find(['~', '^']).unwrap_or(name.len());
    let (start, steps) = name.split_at(steps);
    let why = strange(start).or_else(|| {
        let known = |letter: u8| matches!(letter, b'~' | b'^' | b'0'..=b'9');
        (!steps.bytes().all(known)).then_some("after `~` and `^` only numbers may follow")
    });
    match why {
        Some(why) => refuse("commit", name, why),
        None => Ok(name),
    }
}

fn refuse<T>(what: &'static str, name: &str, why: &'static str) -> Result<T, Error> {
    let mut name = name.escape_debug().to_string();
    if name.len() > LENGTH_MAX {
        name.truncate(name.floor_char_boundary(LENGTH_MAX));
        name.push('…');
    }
    Err(Error::Name { what, name, why })
}

fn strange(name: &str) -> Option<&'static str> {
    let part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > LENGTH_MAX {
        Some("it is too long")
    } else if name.starts_with(['-', '+']) {
        Some("it must not begin with `-` or `+`")
    } else if name.contains(char::is_control) || name.contains(char::is_whitespace) {
        Some("it holds a space or a control character")
    } else if name.contains([':', '?', '*', '[', '\\', '^', '~']) {
        Some("none of `: ? * [ \\ ^ ~` may be in it")
    } else if name.contains("..") || name.contains("@{") || name == "@" {
        Some("`..` and `@{` may not be in it")
    } else if name.split('/').any(part) || name.ends_with('.') {
        Some("no part of it may be empty, begin with `.` or end with `.lock`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_people_use_are_taken() {
        for name in ["main", "feature/päth", "refs/heads/x", "v1.2.3", "HEAD", "a@b", "1"] {
            assert!(reference(name).is_ok() && revision(name).is_ok(), "{name}");
        }
        for name in ["HEAD~3", "HEAD^", "main^2~1", "HEAD^^"] {
            assert!(reference(name).is_err() && revision(name).is_ok(), "{name}");
        }
        assert!(commit(&"0a".repeat(20)).is_ok() && commit(&"0a".repeat(32)).is_ok());
    }

    #[test]
    fn names_that_git_could_read_as_something_else_are_refused() {
        let hostile = [
            "",
            "-",
            "--upload-pack=touch x",
            "+main",
            "a..b",
            "a...b",
            "HEAD@{1}",
            "@{upstream}",
            "@",
            ":/message",
            "main:file",
            "a b",
            "a\nb",
            "a\0b",
            "*",
            "a?",
            "[a]",
            "a\\b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.",
            "^main",
            "main^{tree}",
            "main^@",
            "main^!",
            "main^-",
        ];
        for name in hostile.into_iter().chain(["x".repeat(251).as_str()]) {
            assert!(reference(name).is_err(), "{name:?}");
            assert!(revision(name).is_err(), "{name:?}");
            assert!(commit(name).is_err(), "{name:?}");
        }
        assert!(commit("0a0a").is_err() && commit(&"0A".repeat(20)).is_err());
        let long = revision(&"é".repeat(1_000)).expect_err("too long").to_string();
        assert!(long.len() < 500, "{long}");
    }
}
