//! What changed since a base: the commit where HEAD left it is compared with the files as they are.

use std::cmp::Ordering;
use std::io::BufRead;

use pipeline::facts::Difference;
use pipeline::tree::{File, Tree};

use super::{Listing, Repository, text};
use crate::Error;
use crate::git::Git;
use crate::mirror::tree;
use crate::names;

pub fn since(repository: &Repository, listing: &Listing, base: &str) -> Result<Difference, Error> {
    let Repository { git, is_shallow, .. } = repository;
    let unknown = |why: String| Ok(Difference::Unknown { why });
    let Some(base_commit) = resolve(git, names::revision(base)?)? else {
        let mut why = format!("`{base}` names no commit in this clone; fetch it, or check the spelling");
        if *is_shallow {
            why = format!("{why}. {SHALLOW}");
        }
        return unknown(why);
    };
    if resolve(git, "HEAD")?.is_none() {
        return unknown("the repository has no commit yet".into());
    }
    let Some(start) = merge_base(git, &base_commit, "HEAD")? else {
        let why =
            if *is_shallow { SHALLOW.into() } else { format!("`{base}` and HEAD have no history in common") };
        return unknown(why);
    };
    let output =
        git.stream(&["ls-tree", "-r", "-z", &start], |answer: &mut dyn BufRead| tree::read(answer))?;
    let before = output.or_fail("cannot read the files of the base")?;
    Ok(Difference::Since { base: start, changed: changed(&before, listing) })
}

const SHALLOW: &str = "The clone is shallow: fetch more history with `git fetch --deepen=100`";

/// The commit that a name stands for.
pub fn resolve(git: &Git, name: &str) -> Result<Option<String>, Error> {
    let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")];
    let output = git.ask(&words)?;
    Ok((output.code == Some(0)).then(|| text(&output.answer)))
}

/// Where two lines of history parted; the best of several.
pub fn merge_base(git: &Git, one: &str, other: &str) -> Result<Option<String>, Error> {
    let output = git.ask(&["merge-base", one, other])?;
    match output.code {
        Some(0) => Ok(Some(text(&output.answer))),
        Some(1) => Ok(None),
        Some(_) | None => output.or_fail("cannot find where the base and this commit parted").map(|_| None),
    }
}

/// Paths that are on one side only, or differ; both sides are sorted.
fn changed(before: &Tree, listing: &Listing) -> Vec<Box<[u8]>> {
    let left_out = |file: &File| listing.left_out.binary_search(file).is_ok();
    let (mut before, mut now) = (before.files().iter().peekable(), listing.tree.files().iter().peekable());
    let mut changed = Vec::new();
    loop {
        let order = match (before.peek(), now.peek()) {
            (None, None) => return changed,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(before), Some(now)) => before.path.cmp(&now.path),
        };
        let (before, now) = match order {
            Ordering::Less => (before.next(), None),
            Ordering::Greater => (None, now.next()),
            Ordering::Equal => (before.next(), now.next()),
        };
        let is_same = before == now || now.is_none() && before.is_some_and(left_out);
        let path = before.or(now).map(|file| &file.path);
        changed.extend(path.filter(|path| !is_same && !crate::paths::is_data(path)).cloned());
    }
}
