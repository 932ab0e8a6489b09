//! Commands that are suggested, so that they work as they are printed, from where the person is.

use std::path::Path;

use super::screen::one_line;

/// Where what is shown was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ways {
    Server,
    /// In the records of local runs.
    Records {
        /// What `logs`, `show` and `explain` need to find them again: nothing where they look anyway.
        found: String,
        /// What `run` needs to do it in the same folder. `None`: nobody knows which that was.
        folder: Option<String>,
    },
}

impl Ways {
    /// Records in the current folder.
    pub fn here() -> Ways {
        Ways::Records { found: String::new(), folder: Some(String::new()) }
    }

    /// A command that only looks.
    pub fn look(&self, words: &str) -> String {
        match self {
            Ways::Server => format!("deltaci {words}"),
            Ways::Records { found, folder: _ } => format!("deltaci {words}{found}"),
        }
    }

    /// Do again what did not succeed: on a server with these words, here by a new run, which reuses what did.
    pub fn again(&self, on_server: &str, flags: &str) -> Option<String> {
        match self {
            Ways::Server => Some(format!("deltaci {on_server}")),
            Ways::Records { found: _, folder } => {
                folder.as_ref().map(|folder| format!("deltaci run{folder}{flags}"))
            }
        }
    }
}

/// A path, as a flag's value or an argument.
pub fn path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// A name as a word of a shell.
pub fn quoted(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:@%+=,".contains(letter);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.into(),
        false => format!("'{}'", one_line(name).replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_shell_would_take_apart_is_quoted() {
        assert_eq!(quoted("unit-tests"), "unit-tests");
        assert_eq!(quoted("unit (debug)"), "'unit (debug)'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn what_was_found_elsewhere_is_looked_for_there() {
        let elsewhere = Ways::Records { found: " --data x/.deltaci".into(), folder: Some(" x".into()) };
        assert_eq!(elsewhere.look("logs run_1"), "deltaci logs run_1 --data x/.deltaci");
        assert_eq!(elsewhere.again("rerun run_1", " --job a").as_deref(), Some("deltaci run x --job a"));
        assert_eq!(Ways::here().look("logs run_1"), "deltaci logs run_1");
        assert_eq!(Ways::here().again("rerun run_1", "").as_deref(), Some("deltaci run"));
        assert_eq!(Ways::Server.again("rerun run_1", " --job a").as_deref(), Some("deltaci rerun run_1"));
        let unknown = Ways::Records { found: String::new(), folder: None };
        assert_eq!(unknown.again("rerun run_1", ""), None);
    }
}
