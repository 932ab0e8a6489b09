//! What a version may hold: names and paths that mean the same everywhere, and the hash over all of it.

use sha2::{Digest as _, Sha256};
use wire::Digest;

use crate::Refusal;
use crate::records::Entry;

const NAME_MAX: usize = 128;
const PATH_MAX: usize = 1_024;

/// A package's or a version's name: it is a part of an address.
pub fn check_name(field: &'static str, name: &str) -> Result<(), Refusal> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    let bounded = (1..=NAME_MAX).contains(&name.len()) && name.as_bytes()[0].is_ascii_alphanumeric();
    if bounded && name.bytes().all(fits) {
        return Ok(());
    }
    let problem = format!("1 to {NAME_MAX} of letters, digits and `._+-`, beginning with a letter or digit");
    Err(Refusal::InvalidInput { field, problem })
}

/// A path that stays inside whatever folder it is unpacked into, on every system.
pub fn check_path(path: &str) -> Result<(), Refusal> {
    let problem = if path.is_empty() || path.len() > PATH_MAX {
        format!("a path has 1 to {PATH_MAX} bytes")
    } else if path.chars().any(|letter| letter.is_control() || letter == '\\') {
        "a path has neither control characters nor backslashes".into()
    } else if path.starts_with('/') || path.as_bytes().get(1) == Some(&b':') {
        format!("`{path}` is absolute: paths are relative")
    } else if path.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        format!("`{path}` has an empty part, `.` or `..`")
    } else {
        return Ok(());
    };
    Err(Refusal::InvalidInput { field: "entries", problem })
}

/// SHA-256 over paths, lengths and digests, in the order of the paths.
pub fn content_hash(entries: &[Entry]) -> Digest {
    let mut hash = Sha256::new();
    for entry in entries {
        hash.update((entry.path.len() as u64).to_be_bytes());
        hash.update(entry.path.as_bytes());
        hash.update(entry.length.to_be_bytes());
        hash.update(entry.digest.as_bytes());
    }
    Digest::from_bytes(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_their_folder_are_refused() {
        for path in ["a", "a/b.txt", "dir/..a/b", "ü/ß", ".hidden", "a b"] {
            assert_eq!(check_path(path), Ok(()), "{path}");
        }
        let long = "a/".repeat(600);
        for path in ["", "/a", "../a", "a/../b", "a//b", "a/", "./a", "a\\b", "C:/a", "a\0b", "a\nb", &long] {
            assert!(check_path(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn names_are_plain() {
        for name in ["app", "1.2.3+build-4", "a_b"] {
            assert_eq!(check_name("package", name), Ok(()), "{name}");
        }
        for name in ["", ".", "..", ".a", "a/b", "a b", "ä", &"a".repeat(129)] {
            assert!(check_name("package", name).is_err(), "{name:?}");
        }
    }
}
