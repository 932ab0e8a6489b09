//! `cargo xtask chaos`: `deltaci verify` again and again, in more places than a user has: on SQLite, with two servers on one
//! PostgreSQL, with runners that the kernel cuts off, on a disk that is full again and again. The long profile also goes
//! through the models and simulated systems that are too many for CI.
//!
//! Never: a promise. What is tried and judged is in `crates/cli/src/verify`; this room only gives it places.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::parts;
use crate::postgres::{Server, is_root};
use crate::workspace::{cargo, run_to_end, target};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Short,
    /// 2,000 kills, 60,000 simulated systems, and the largest models.
    Long,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Sqlite,
    Postgres,
    Namespaces,
    SmallDisk,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Place::Sqlite => "one server on SQLite",
            Place::Postgres => "two servers on one PostgreSQL",
            Place::Namespaces => "runners in network namespaces",
            Place::SmallDisk => "a disk that is full again and again",
        }
    }
}

/// How often each place is visited, and for how many kills.
fn rounds(profile: Profile) -> Vec<(Place, u32)> {
    match profile {
        Profile::Short => {
            vec![(Place::Sqlite, 40), (Place::Postgres, 20), (Place::Namespaces, 20), (Place::SmallDisk, 20)]
        }
        Profile::Long => {
            let all = [Place::Sqlite, Place::Postgres, Place::Namespaces, Place::SmallDisk];
            (0..20).map(|round| (all[round % all.len()], 100)).collect()
        }
    }
}

const SYSTEMS: &str = "60000";

/// Small enough to be filled at once, large enough for the records of a hundred kills.
const DISK: &str = "size=96m,mode=0700";

/// Returns the exit code of the first round that fails. `older` is the program of an earlier version, to begin with.
pub fn run(profile: Profile, seed: u64, older: Option<&Path>) -> Result<u8> {
    if profile == Profile::Long {
        let code = think()?;
        if code != 0 {
            return Ok(code);
        }
    }
    let code = run_to_end(&mut cargo(&["build", "--locked", "--package", "deltaci"])?)?;
    if code != 0 {
        return Ok(code);
    }
    if let Some(problem) = parts::provide_wall_clocks()? {
        eprintln!("skipped, not tried: wall clocks that are set: {problem}");
    }
    let program = target()?.join("debug/deltaci");
    for (number, (place, kills)) in rounds(profile).into_iter().enumerate() {
        let seed = seed + number as u64;
        eprintln!("\n--- {}, {kills} kills, seed {seed}", place.name());
        let mut command = Command::new(&program);
        command.args([
            "verify",
            "--only",
            "processes",
            "--kills",
            &kills.to_string(),
            "--seed",
            &seed.to_string(),
        ]);
        if let Some(older) = older {
            command.arg("--older").arg(older);
        }
        let code = visit(place, &mut command)?;
        if code != 0 {
            return Ok(code);
        }
    }
    Ok(0)
}

/// What needs no process.
fn think() -> Result<u8> {
    let sim = |words: &[&str]| {
        let test = ["test", "--locked", "--release", "--package", "sim", "--test", "it", "--", "--nocapture"];
        cargo(&[&test, words].concat())
    };
    eprintln!("\n--- the largest models");
    let code = run_to_end(&mut sim(&["--ignored", "deep::"])?)?;
    if code != 0 {
        return Ok(code);
    }
    eprintln!("\n--- {SYSTEMS} simulated systems");
    run_to_end(sim(&["simulation::many"])?.env("DELTACI_SIM_SEEDS", SYSTEMS))
}

fn visit(place: Place, command: &mut Command) -> Result<u8> {
    match place {
        Place::Sqlite => run_to_end(command),
        Place::Postgres => {
            let server = Server::start()?;
            run_to_end(command.args(["--database", &server.url]))
        }
        Place::Namespaces => match namespaces()? {
            Some(problem) => skipped(place, &problem),
            None => run_to_end(command.arg("--netns")),
        },
        Place::SmallDisk => match Disk::mount()? {
            Err(problem) => skipped(place, &problem),
            Ok(disk) => run_to_end(command.arg("--fill-disk").arg(&disk.folder)),
        },
    }
}

fn skipped(place: Place, problem: &str) -> Result<u8> {
    eprintln!("skipped, not tried: {}: {problem}", place.name());
    Ok(0)
}

/// Why this machine gives us none.
fn namespaces() -> Result<Option<String>> {
    if !is_root()? {
        return Ok(Some("only root may make them".into()));
    }
    let name = format!("deltaci-probe-{}", std::process::id());
    let made = quiet("ip", &["netns", "add", &name]);
    if made.is_ok() {
        quiet("ip", &["netns", "del", &name])?;
    }
    Ok(made.err().map(|error| format!("{error:#}")))
}

/// A file system in memory that goes with the value.
struct Disk {
    folder: PathBuf,
}

impl Disk {
    fn mount() -> Result<Result<Disk, String>> {
        if !is_root()? {
            return Ok(Err("only root may mount one".into()));
        }
        let folder = std::env::temp_dir().join(format!("deltaci-disk-{}", std::process::id()));
        std::fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let place = folder.display().to_string();
        if let Err(error) = quiet("mount", &["-t", "tmpfs", "-o", DISK, "deltaci", &place]) {
            std::fs::remove_dir(&folder)?;
            return Ok(Err(format!("{error:#}")));
        }
        Ok(Ok(Disk { folder }))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let gone = quiet("umount", &[&self.folder.display().to_string()]);
        if let Err(error) = gone.and_then(|()| Ok(std::fs::remove_dir(&self.folder)?)) {
            eprintln!("cannot remove {}: {error:#}", self.folder.display());
        }
    }
}

fn quiet(program: &str, words: &[&str]) -> Result<()> {
    let output = Command::new(program).args(words).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot run `{program}`"))?;
    ensure!(output.status.success(), "`{program}`: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_profile_kills_two_thousand_times_and_visits_every_place() {
        let long = rounds(Profile::Long);
        assert_eq!(long.iter().map(|(_, kills)| kills).sum::<u32>(), 2_000);
        for (place, _) in rounds(Profile::Short) {
            assert!(long.iter().any(|(visited, _)| *visited == place), "{place:?}");
        }
    }
}
