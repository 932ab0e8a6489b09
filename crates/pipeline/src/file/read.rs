//! A file's bytes to a pipeline, or to everything that is wrong with it.

use decisions::records::{Concurrency, Source};

use super::check::check;
use super::fill::{Rest, check_rest};
use super::keys::FILE;
use super::{formats::Format, jobs};
use crate::definition::Pipeline;
use crate::problem::{Code, Place, Problem, Problems};
use crate::yaml::{self, Kind, Node};

/// Reads a file. The problems come in the order of their places, at most fifty of them.
pub fn read(bytes: &[u8]) -> Result<Pipeline, Vec<Problem>> {
    let mut problems = Problems::default();
    let root = yaml::parse(bytes, &mut problems);
    let root = root.filter(|root| root.kind() != Kind::Null);
    if root.is_none() && problems.is_empty() {
        let message = "the file describes no pipeline";
        let hint = "begin with `version: 1` and `jobs:`; `deltaci init` writes a first file";
        problems.add(Problem::new(Code::FileEmpty, Place::START, message, "nothing here", hint));
    }
    let pipeline = root.map(|root| pipeline(&root, &mut problems));
    match pipeline {
        Some(pipeline) if problems.is_empty() => Ok(pipeline),
        Some(_) | None => Err(problems.sorted()),
    }
}

fn pipeline(root: &Node, problems: &mut Problems) -> Pipeline {
    check(root, FILE, problems);
    let entry = root.entries().iter().find(|entry| &*entry.key == "jobs");
    let jobs = entry.map_or_else(Vec::new, |entry| {
        jobs::read(entry.value.entries(), root.get("defaults"), entry.place, problems)
    });
    Pipeline {
        source: Source::File,
        concurrency: root.get("concurrency").map(|node| concurrency(node, problems)),
        fail_fast: flag(root.get("fail_fast")),
        jobs,
    }
}

fn flag(node: Option<&Node>) -> bool {
    node.is_some_and(|node| node.kind() == Kind::Flag(true))
}

fn concurrency(node: &Node, problems: &mut Problems) -> Concurrency {
    let group = node.get("group").and_then(|group| Some((group.text()?, group.place)));
    if let Some((text, place)) = group {
        let checked = Format::Capability.check(text, place);
        if let Err(problem) = checked.and_then(|()| check_rest(text, Rest::Origin, &[], place)) {
            problems.add(problem);
        }
    }
    let group = group.map_or_else(String::new, |(text, _)| text.to_owned());
    Concurrency { group, cancel: flag(node.get("cancel")) }
}
