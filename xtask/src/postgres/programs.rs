//! Finds PostgreSQL's programs: where Debian keeps them, then on PATH.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest PostgreSQL that the product supports.
pub const VERSION_MIN: u32 = 15;

/// Debian keeps one folder per major version here, and does not put it on PATH.
const DEBIAN: &str = "/usr/lib/postgresql";

const NEEDED: [&str; 3] = ["initdb", "pg_ctl", "postgres"];

/// The folder of the first installation that is new enough.
pub fn find() -> Option<PathBuf> {
    let mut folders = newest_first(debian_folders());
    // Debian's come first because what stands on PATH may be a wrapper with rules of its own.
    folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    folders.into_iter().find(|folder| is_complete(folder) && is_new_enough(folder))
}

fn debian_folders() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(DEBIAN) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}

/// Sorts `…/9`, `…/15`, `…/16` by their number and names the programs' folder in each.
fn newest_first(mut versions: Vec<PathBuf>) -> Vec<PathBuf> {
    let number = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    versions.sort_by_key(|path| std::cmp::Reverse(number(path)));
    versions.into_iter().map(|path| path.join("bin")).collect()
}

fn is_complete(folder: &Path) -> bool {
    NEEDED.iter().all(|program| folder.join(program).is_file())
}

fn is_new_enough(folder: &Path) -> bool {
    let Ok(output) = Command::new(folder.join("postgres")).arg("--version").output() else { return false };
    major_version(&String::from_utf8_lossy(&output.stdout)).is_some_and(|version| version >= VERSION_MIN)
}

/// Reads the 15 in `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`.
fn major_version(text: &str) -> Option<u32> {
    let number = text.split_whitespace().nth(2)?;
    let digits = number.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_what_postgres_prints() {
        assert_eq!(major_version("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n"), Some(15));
        assert_eq!(major_version("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major_version("postgres (PostgreSQL) 9.6.24"), Some(9));
        assert_eq!(major_version("not a version"), None);
        assert_eq!(major_version(""), None);
    }

    #[test]
    fn versions_are_sorted_as_numbers() {
        let versions = ["p/9", "p/16", "p/15", "p/share"].map(PathBuf::from).to_vec();
        assert_eq!(
            newest_first(versions),
            ["p/16/bin", "p/15/bin", "p/9/bin", "p/share/bin"].map(PathBuf::from)
        );
    }
}
