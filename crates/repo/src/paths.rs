//! Which paths of a repository may be created in a folder.

use crate::Error;

/// No system call takes longer ones.
const LENGTH_MAX: usize = 4_000;
const PART_LENGTH_MAX: usize = 255;
/// A handle is open for each folder on the way to a file.
pub const DEPTH_MAX: usize = 200;

/// The data directory is never part of a repository.
pub const DATA: &[u8] = b".deltaci";

/// Whoever creates the file must end up inside the folder, and not in git's own.
pub fn check(path: &[u8]) -> Result<(), Error> {
    let refuse = |why| Err(Error::Path { path: path.escape_ascii().to_string(), why });
    if path.len() > LENGTH_MAX {
        return refuse("its path is too long");
    }
    let mut depth = 0;
    for part in path.split(|letter| *letter == b'/') {
        depth += 1;
        match part {
            b"" => return refuse("its path has an empty part"),
            b"." | b".." => return refuse("its path leads elsewhere"),
            _ if part.eq_ignore_ascii_case(b".git") => return refuse("it would be inside a `.git` folder"),
            _ if part.len() > PART_LENGTH_MAX => return refuse("a part of its path is too long"),
            _ if part.contains(&0) => return refuse("its path holds a NUL"),
            _ => {}
        }
    }
    if depth > DEPTH_MAX { refuse("it lies too deep") } else { Ok(()) }
}

pub fn is_data(path: &[u8]) -> bool {
    path.split(|letter| *letter == b'/').any(|part| part == DATA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_must_stay_inside_the_folder_and_out_of_gits_own() {
        for path in [&b"a"[..], b"a/b", b"a\nb", b"...", b".gitignore", b"\xff", b" ", b"a.git/x", b"-rf"] {
            assert!(check(path).is_ok(), "{}", path.escape_ascii());
        }
        let deep = b"a/".repeat(DEPTH_MAX + 1);
        let long = [b'a'; 256];
        for path in [
            &b""[..],
            b"/etc/passwd",
            b"a//b",
            b"a/",
            b"../a",
            b"a/..",
            b"./a",
            b".git/config",
            b"a/.GIT",
            b"a\0b",
            &deep,
            &long,
        ] {
            assert!(check(path).is_err(), "{}", path.escape_ascii());
        }
    }
}
