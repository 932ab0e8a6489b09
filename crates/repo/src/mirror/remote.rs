//! What the other side says it has.

use super::Mirror;
use crate::Error;
use crate::git::Git;

/// A ref on the other side: its full name and where it stands.
#[derive(Debug, PartialEq, Eq)]
pub struct Ref {
    pub name: String,
    pub object: String,
}

impl Ref {
    pub fn branch(&self) -> Option<String> {
        branch(&self.name)
    }
}

/// The branch that a ref is, if it is one. A short name is taken for one.
pub fn branch(name: &str) -> Option<String> {
    match name.strip_prefix("refs/heads/") {
        Some(branch) => Some(branch.into()),
        None if name == "HEAD" || name.starts_with("refs/") => None,
        None => Some(name.into()),
    }
}

/// Finds the ref that is meant: by its full name, a branch, or a tag; without a name, the head.
pub fn find(mirror: &Mirror, git: &Git, name: Option<&str>) -> Result<Ref, Error> {
    let name = name.unwrap_or("HEAD");
    let meant = match name {
        "HEAD" => vec!["HEAD".to_owned()],
        _ if name.starts_with("refs/") => vec![name.to_owned()],
        _ => vec![format!("refs/heads/{name}"), format!("refs/tags/{name}")],
    };
    let mut words = vec!["ls-remote", "--symref", "--quiet", "--end-of-options", &mirror.address];
    words.extend(meant.iter().map(String::as_str));
    let answer = git.must("cannot ask the repository for its branches", &words);
    let answer = answer.map_err(|error| super::fetch::private(error, &mirror.address))?;
    let answer = String::from_utf8_lossy(&answer);
    choose(&answer, &meant).ok_or_else(|| Error::Git {
        what: format!("cannot find `{name}`"),
        said: format!(
            "the repository {} has no such branch or tag",
            super::address::without_secret(&mirror.address)
        ),
    })
}

/// The other side matches the end of names, so more may come back than was meant.
fn choose(answer: &str, meant: &[String]) -> Option<Ref> {
    let lines = || answer.lines().filter_map(|line| line.split_once('\t'));
    meant.iter().find_map(|name| {
        let mut found = lines().filter(|(_, found)| found == name);
        let object = found.find(|(object, _)| !object.starts_with("ref: "))?.0.to_owned();
        let target = lines().find(|(target, found)| found == name && target.starts_with("ref: "));
        let target = target.map_or(name.as_str(), |(target, _)| target.trim_start_matches("ref: "));
        Some(Ref { name: target.to_owned(), object })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "ref: refs/heads/trunk\tHEAD\n1111\tHEAD\n2222\trefs/heads/a\n3333\trefs/heads/x/refs/heads/b\n4444\trefs/tags/a\n5555\trefs/tags/b\n";

    #[test]
    fn a_branch_comes_before_a_tag_and_the_head_is_the_branch_it_stands_for() {
        let choose = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| name.to_string()).collect();
            choose(ANSWER, &names).map(|found| (found.branch(), found.object))
        };
        assert_eq!(choose(&["HEAD"]), Some((Some("trunk".into()), "1111".into())));
        assert_eq!(choose(&["refs/heads/a", "refs/tags/a"]), Some((Some("a".into()), "2222".into())));
        assert_eq!(choose(&["refs/heads/b", "refs/tags/b"]), Some((None, "5555".into())));
        assert_eq!(choose(&["refs/heads/c"]), None);
    }
}
