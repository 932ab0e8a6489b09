//! The programs that tests run jobs with or talk to, installed where they are missing and that is ours to do.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::apt;
use crate::postgres::{self, is_root};

/// What must be there, Debian's package for it, and what needs it.
struct Part {
    program: &'static str,
    how: How,
    package: &'static str,
    purpose: &'static str,
}

/// How it is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// By its name.
    Program,
    /// Python alone is not enough: Debian keeps what `venv` needs in a package of its own.
    Environments,
    /// As many versions may be installed, or a server be named.
    Postgres,
}

const PARTS: [Part; 12] = [
    Part { program: "PostgreSQL", how: How::Postgres, package: "postgresql", purpose: "the other store" },
    Part { program: "bwrap", how: How::Program, package: "bubblewrap", purpose: "sandboxes" },
    Part { program: "podman", how: How::Program, package: "podman", purpose: "containers" },
    Part { program: "runc", how: How::Program, package: "runc", purpose: "containers" },
    Part {
        program: "busybox",
        how: How::Program,
        package: "busybox-static",
        purpose: "the image of the containers",
    },
    Part { program: "git", how: How::Program, package: "git", purpose: "checkouts" },
    Part { program: "ip", how: How::Program, package: "iproute2", purpose: "cut networks" },
    Part {
        program: "strace",
        how: How::Program,
        package: "strace",
        purpose: "kills at a chosen step, disks that fail, and disks as a power cut leaves them",
    },
    Part { program: "nats-server", how: How::Program, package: "nats-server", purpose: "events over NATS" },
    Part {
        program: "tmux",
        how: How::Program,
        package: "tmux",
        purpose: "what a local run looks like on a terminal",
    },
    WALL_CLOCKS,
    FUZZER,
];

const WALL_CLOCKS: Part = Part {
    program: "faketime",
    how: How::Program,
    package: "faketime",
    purpose: "wall clocks that are set forward and back",
};

const FUZZER: Part = Part {
    program: "python3 -m venv",
    how: How::Environments,
    package: "python3-venv",
    purpose: "the fuzzer of the API; Python 3.10 or newer",
};

/// Says nothing, and succeeds where an environment can be made.
const ENVIRONMENTS: &str = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))";

/// Where programs are beside PATH, which lacks `sbin` for many users.
const PLACES: [&str; 4] = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];

/// Sees that every part is there, before anything is built or tested. The API is fuzzed only with all tests.
pub fn provide(fuzzes: bool) -> Result<()> {
    let needed: Vec<&Part> = PARTS.iter().filter(|part| fuzzes || part.how != How::Environments).collect();
    match left_of(&needed)?.as_slice() {
        [] => Ok(()),
        left => bail!("{}", what_to_install(left)),
    }
}

/// Why wall clocks cannot be set here, if they cannot.
pub fn provide_wall_clocks() -> Result<Option<String>> {
    Ok(left_of(&[&WALL_CLOCKS])?.first().map(|part| format!("the package {} is not here", part.package)))
}

/// What is still missing after we did what we may.
fn left_of<'a>(parts: &[&'a Part]) -> Result<Vec<&'a Part>> {
    let packages: Vec<&str> = missing(parts).iter().map(|part| part.package).collect();
    if !packages.is_empty() && apt::may_install(is_root()?) {
        eprintln!("installing what the tests need: {}", packages.join(", "));
        apt::install(&packages)?;
    }
    Ok(missing(parts))
}

fn missing<'a>(parts: &[&'a Part]) -> Vec<&'a Part> {
    parts.iter().copied().filter(|part| !part.is_there()).collect()
}

impl Part {
    fn is_there(&self) -> bool {
        match self.how {
            How::Program => is_there(self.program),
            How::Environments => {
                let python = Command::new("python3").args(["-c", ENVIRONMENTS]).output();
                python.is_ok_and(|output| output.status.success())
            }
            How::Postgres => postgres::is_there(),
        }
    }
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(PLACES.iter().map(|place| Path::new(place).to_owned()));
    places.into_iter().any(|place| place.join(program).is_file())
}

fn what_to_install(left: &[&Part]) -> String {
    let list: Vec<_> = left.iter().map(|part| format!("{} (for {})", part.program, part.purpose)).collect();
    let packages: Vec<_> = left.iter().map(|part| part.package).collect();
    format!(
        "the tests need what is not here: {}. Install them (on Debian and Ubuntu: `apt-get install {}`)",
        list.join(", "),
        packages.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_or_not() {
        assert!(is_there("sh"));
        assert!(!is_there("no-such-program-anywhere"));
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let text = what_to_install(&[&PARTS[1], &FUZZER]);
        assert!(
            text.contains("bwrap (for sandboxes), python3 -m venv (for the fuzzer of the API")
                && text.contains("apt-get install bubblewrap python3-venv"),
            "{text}"
        );
    }
}
