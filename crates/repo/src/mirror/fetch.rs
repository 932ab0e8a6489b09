//! Brings a commit into a mirror, with its history.
//!
//! What comes in is kept under names of our own making, so that no name from outside ever becomes a file here.

use sha2::{Digest, Sha256};

use super::prepare::{self, lock};
use super::remote::{self, Ref};
use super::{Found, Mirror, address};
use crate::Error;
use crate::folder::resolve;
use crate::git::Git;
use crate::hash::Format;

pub fn fetch(mirror: &Mirror, reference: Option<&str>, commit: Option<&str>) -> Result<Found, Error> {
    let lock = lock(mirror)?;
    prepare::prepare(mirror, &lock)?;
    let held = lock.try_clone().map_err(Error::io("lock the mirror", &mirror.lock))?;
    let git = mirror.git.open(mirror.doors, mirror.fetch_time_max, Some(held));
    let attempt = || match commit {
        Some(commit) => fetch_commit(mirror, &git, reference, commit),
        None => fetch_reference(mirror, &git, reference),
    };
    let result = attempt();
    match result.as_ref().err().and_then(cure) {
        Some(format) => {
            prepare::renew(mirror, &lock, format)?;
            attempt()
        }
        None => result,
    }
}

/// Whether starting again with an empty mirror would help, and in which format: the disk lost something that git had
/// written, or the other side names its objects differently.
fn cure(error: &Error) -> Option<Format> {
    let Error::Git { said, .. } = error else { return None };
    let lost = [
        "is corrupt",
        "is empty",
        "bad object",
        "not a git repository",
        "did not send all necessary objects",
        "unable to read",
        "cannot be accessed",
        "missing blob object",
        "missing necessary objects",
    ];
    if said.contains("mismatched algorithms") {
        return Some(if said.contains("server sha256") { Format::Sha256 } else { Format::Sha1 });
    }
    lost.iter().any(|word| said.contains(word)).then(Format::default)
}

fn fetch_reference(mirror: &Mirror, git: &Git, name: Option<&str>) -> Result<Found, Error> {
    let found = remote::find(mirror, git, name)?;
    let slot = slot(&found.name);
    let commit = match resolve(git, &found.object)? {
        Some(commit) => hold(git, &slot, &commit)?,
        None => bring(mirror, git, &found, &slot)?,
    };
    Ok(Found { commit, branch: found.branch() })
}

fn bring(mirror: &Mirror, git: &Git, found: &Ref, slot: &str) -> Result<String, Error> {
    pull(mirror, git, &format!("+{}:{slot}", found.name))?;
    resolve(git, slot)?.ok_or_else(|| Error::Git {
        what: format!("cannot use `{}`", found.name),
        said: "it is not a commit".into(),
    })
}

/// Servers may refuse to give a commit by its id. Then the ref is fetched, or all branches if none was named.
fn fetch_commit(mirror: &Mirror, git: &Git, reference: Option<&str>, commit: &str) -> Result<Found, Error> {
    let slot = format!("refs/seen/commit-{}", &commit[..2]);
    let branch = reference.and_then(remote::branch);
    let found = Found { commit: commit.into(), branch };
    if mirror.has(commit)? {
        hold(git, &slot, commit)?;
        return Ok(found);
    }
    let refused = match pull(mirror, git, &format!("+{commit}:{slot}")) {
        Ok(()) if mirror.has(commit)? => return Ok(found),
        Ok(()) => {
            return Err(Error::Git {
                what: format!("cannot use {commit}"),
                said: "it is not a commit".into(),
            });
        }
        Err(error) => error,
    };
    if cure(&refused).is_some() {
        return Err(refused);
    }
    match reference {
        Some(_) => drop(fetch_reference(mirror, git, reference)?),
        None => pull(mirror, git, "+refs/heads/*:refs/branches/*")?,
    }
    if mirror.has(commit)? {
        hold(git, &slot, commit)?;
        return Ok(found);
    }
    let place = reference.map_or("any branch".to_owned(), |name| format!("the history of {name}"));
    Err(Error::Git {
        what: format!("cannot fetch the commit {commit}"),
        said: format!("it is not in {place}; was it pushed, or was the ref rewritten?"),
    })
}

/// Fetches into a ref of ours.
fn pull(mirror: &Mirror, git: &Git, what: &str) -> Result<(), Error> {
    let words = [
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-recurse-submodules",
        "--no-write-fetch-head",
        "--prune",
        "--force",
        "--update-shallow",
        "--end-of-options",
        &mirror.address,
        what,
    ];
    let result = git.must("cannot fetch from the repository", &words);
    result.map(drop).map_err(|error| private(error, &mirror.address))
}

/// Git may repeat the address with the password in it.
pub fn private(error: Error, address: &str) -> Error {
    match error {
        Error::Git { what, said } => {
            let said = said.replace(address, &address::without_secret(address));
            let secret =
                address.split_once("://").and_then(|(_, rest)| rest.split('/').next()?.rsplit_once('@'));
            let said = secret.map_or(said.clone(), |(secret, _)| said.replace(secret, "…"));
            Error::Git { what, said }
        }
        other => other,
    }
}

/// A ref keeps a commit when the mirror is tidied.
fn hold(git: &Git, slot: &str, commit: &str) -> Result<String, Error> {
    git.must("cannot keep the commit in the mirror", &["update-ref", "--no-deref", slot, commit])?;
    Ok(commit.to_owned())
}

/// One for each ref that was asked for: a name that became a folder of names elsewhere does not trouble us.
fn slot(name: &str) -> String {
    let digest = Sha256::digest(name.as_bytes());
    let name: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("refs/seen/{name}")
}
