//! The programs that tests run jobs with or talk to, installed where they are missing and that is ours to do.

use std::path::Path;

use anyhow::{Result, bail};

use crate::apt;
use crate::postgres::is_root;

/// A program, Debian's package for it, and what needs it.
struct Part {
    program: &'static str,
    package: &'static str,
    purpose: &'static str,
}

const PARTS: [Part; 10] = [
    Part { program: "bwrap", package: "bubblewrap", purpose: "sandboxes" },
    Part { program: "podman", package: "podman", purpose: "containers" },
    Part { program: "runc", package: "runc", purpose: "containers" },
    Part { program: "busybox", package: "busybox-static", purpose: "the image of the containers" },
    Part { program: "git", package: "git", purpose: "checkouts" },
    Part { program: "ip", package: "iproute2", purpose: "cut networks" },
    Part {
        program: "strace",
        package: "strace",
        purpose: "kills at a chosen step, disks that fail, and disks as a power cut leaves them",
    },
    Part { program: "nats-server", package: "nats-server", purpose: "events over NATS" },
    Part { program: "tmux", package: "tmux", purpose: "what a local run looks like on a terminal" },
    WALL_CLOCKS,
];

const WALL_CLOCKS: Part =
    Part { program: "faketime", package: "faketime", purpose: "wall clocks that are set forward and back" };

/// Where programs are beside PATH, which lacks `sbin` for many users.
const PLACES: [&str; 4] = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];

/// Sees that every part is there.
pub fn provide() -> Result<()> {
    match left_of(&PARTS)?.as_slice() {
        [] => Ok(()),
        left => bail!("{}", what_to_install(left)),
    }
}

/// Why wall clocks cannot be set here, if they cannot.
pub fn provide_wall_clocks() -> Result<Option<String>> {
    Ok(left_of(&[WALL_CLOCKS])?.first().map(|part| format!("the package {} is not here", part.package)))
}

/// What is still missing after we did what we may.
fn left_of(parts: &[Part]) -> Result<Vec<&Part>> {
    let packages: Vec<&str> = missing(parts).iter().map(|part| part.package).collect();
    if !packages.is_empty() && apt::may_install(is_root()?) {
        eprintln!("installing what the tests need: {}", packages.join(", "));
        apt::install(&packages)?;
    }
    Ok(missing(parts))
}

fn missing(parts: &[Part]) -> Vec<&Part> {
    parts.iter().filter(|part| !is_there(part.program)).collect()
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
        "the tests need programs that are not here: {}. Install them (on Debian and Ubuntu: `apt-get install {}`)",
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
        let text = what_to_install(&[&PARTS[0], &PARTS[5]]);
        assert!(
            text.contains("bwrap (for sandboxes)") && text.contains("apt-get install bubblewrap iproute2"),
            "{text}"
        );
    }
}
