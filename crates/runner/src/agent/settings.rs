//! What the operator decides.

use std::path::PathBuf;

use tokio::sync::mpsc;
use wire::RunnerId;

use crate::agent::tap::Seen;
use crate::keeper::{Choice, CopyOf, Limits};
use crate::mint;

#[derive(Debug, Clone)]
pub struct Settings {
    /// Unique; the ids of the slots are made from it.
    pub name: String,
    pub slots: u32,
    /// One job, then leave.
    pub once: bool,
    pub capabilities: Vec<String>,
    pub executor: Choice,
    pub ground: Ground,
    pub network: Network,
    pub work_dir: PathBuf,
    pub limits: Limits,
    /// The most that one job may leave as artifacts.
    pub artifacts_bytes_max: u64,
    /// Hears what jobs do, as they do it.
    pub tap: Option<mpsc::Sender<Seen>>,
}

/// Where jobs begin. The operator's to say and never a job's: a server must not name paths of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// A fresh folder, with the commit that the job names.
    Fresh,
    /// A fresh folder with these files.
    CopyOf(CopyOf),
    /// This very folder. Nothing of it is removed, and jobs meet in it.
    InPlace(PathBuf),
}

/// Who gets the network, where the executor can withhold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Jobs that ask for it.
    Asked,
    /// Every job that does not refuse it.
    Always,
    Never,
}

impl Network {
    pub fn allows(self, asked: Option<bool>) -> bool {
        match self {
            Network::Asked => asked.unwrap_or(false),
            Network::Always => asked.unwrap_or(true),
            Network::Never => false,
        }
    }
}

/// The machine's name, and a few letters that keep two runners on it, or two machines of one name, apart.
pub fn default_name() -> String {
    const HOST_BYTES_MAX: usize = 60;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let plain: String = host
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-')
        .take(HOST_BYTES_MAX)
        .collect();
    let host = if plain.is_empty() { "runner" } else { &plain };
    format!("{host}-{}", mint::suffix())
}

/// The id of each slot: the name itself, or with a number when there are several. The name is also that of a folder.
pub fn runner_ids(name: &str, slots: u32) -> Result<Vec<RunnerId>, String> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.starts_with('.') || !name.chars().all(fits) {
        return Err(format!("`{name}` is no name for a runner: use letters, digits, `-`, `_` and `.`"));
    }
    let texts = (1..=slots).map(|slot| if slots == 1 { name.into() } else { format!("{name}-{slot}") });
    let too_long = || format!("a runner's name has 1 to {} letters", RunnerId::LENGTH_MAX);
    texts.map(|text| RunnerId::parse(&text).ok_or_else(too_long)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_has_an_id_of_its_own() {
        let ids = |name: &str, slots| {
            runner_ids(name, slots).map(|ids| ids.iter().map(RunnerId::to_string).collect::<Vec<_>>())
        };
        assert_eq!(ids("a", 1), Ok(vec!["a".into()]));
        assert_eq!(ids("a", 2), Ok(vec!["a-1".into(), "a-2".into()]));
        for bad in ["", "a/b", "..", "a b", "é", &"x".repeat(129)] {
            assert!(ids(bad, 1).is_err(), "{bad}");
        }
        assert_ne!(default_name(), default_name());
        assert!(ids(&default_name(), 2).is_ok());
    }

    #[test]
    fn the_network_is_the_operators_to_give() {
        let given = |network: Network| [None, Some(true), Some(false)].map(|asked| network.allows(asked));
        assert_eq!(given(Network::Asked), [false, true, false]);
        assert_eq!(given(Network::Always), [true, true, false]);
        assert_eq!(given(Network::Never), [false, false, false]);
    }
}
