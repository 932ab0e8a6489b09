//! What waits for what: every need exists, and nothing waits for itself.

use std::collections::{HashMap, HashSet};

use super::nearest::nearest;
use crate::problem::{Code, Problem, Problems, short};
use crate::yaml::{Entry, Node};

/// More jobs of a cycle than that help nobody.
const CYCLE_SHOWN: usize = 12;

/// Among so many is looked for what was meant.
const GUESSES_MAX: usize = 1_000;

/// For each job the numbers of those it needs, each once; what names none is left out.
pub fn check(jobs: &[Entry], problems: &mut Problems) -> Vec<Vec<usize>> {
    let numbers: HashMap<&str, usize> =
        jobs.iter().enumerate().map(|(number, job)| (&*job.key, number)).collect();
    let mut needs = Vec::with_capacity(jobs.len());
    for (number, job) in jobs.iter().enumerate() {
        let (mut seen, mut found) = (HashSet::new(), Vec::new());
        for node in items(job) {
            let Some(text) = node.text().filter(|_| !problems.is_full()) else { continue };
            match numbers.get(text) {
                None => problems.add(unknown(text, node, jobs)),
                Some(need) if *need == number => problems.add(Problem::new(
                    Code::SelfNeed,
                    node.place,
                    format!("the job `{}` needs itself", short(text)),
                    "the job itself",
                    "take it out of `needs`",
                )),
                Some(need) if !seen.insert(*need) => problems.add(Problem::new(
                    Code::DuplicateNeed,
                    node.place,
                    format!("`{}` is needed twice", short(text)),
                    "again",
                    "take one of the two out",
                )),
                Some(need) => found.push(*need),
            }
        }
        needs.push(found);
    }
    refuse_cycles(jobs, &needs, problems);
    needs
}

fn items(job: &Entry) -> &[Node] {
    job.value.get("needs").map_or(&[], Node::items)
}

fn unknown(text: &str, node: &Node, jobs: &[Entry]) -> Problem {
    let names = jobs.iter().map(|job| &*job.key);
    // `unit-tests (debug)` is a job of the plan, but not of the file.
    let whole = text.split_once(" (").and_then(|(base, _)| names.clone().find(|name| *name == base));
    let hint = match (whole, nearest(text, names.clone().take(GUESSES_MAX))) {
        (Some(base), _) => format!("`needs: [{base}]` waits for all jobs of its matrix"),
        (None, Some(meant)) => format!("did you mean `{meant}`?"),
        (None, None) => {
            let names: Vec<String> = names.take(CYCLE_SHOWN).map(short).collect();
            format!("jobs of this file: {}", names.join(", "))
        }
    };
    let message = format!("there is no job `{}`", short(text));
    Problem::new(Code::UnknownNeed, node.place, message, "no such job", hint)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Not,
    /// On the way that is being followed.
    Now,
    Done,
}

/// Follows needs from job to job; a job that is met again on the same way closes a cycle. Without recursion, because a
/// chain may be as long as the file.
fn refuse_cycles(jobs: &[Entry], needs: &[Vec<usize>], problems: &mut Problems) {
    let mut seen = vec![Seen::Not; jobs.len()];
    for start in 0..jobs.len() {
        // Each step: a job, and which of its needs comes next.
        let mut way = vec![(start, 0)];
        if seen[start] != Seen::Not {
            continue;
        }
        seen[start] = Seen::Now;
        while let Some((job, next)) = way.last_mut() {
            let Some(need) = needs[*job].get(*next).copied() else {
                seen[*job] = Seen::Done;
                way.pop();
                continue;
            };
            *next += 1;
            match seen[need] {
                Seen::Not => {
                    seen[need] = Seen::Now;
                    way.push((need, 0));
                }
                Seen::Now if problems.is_full() => return,
                Seen::Now => {
                    let from = way.iter().position(|(job, _)| *job == need).unwrap_or_default();
                    let cycle: Vec<usize> = way[from..].iter().map(|(job, _)| *job).collect();
                    problems.add(cycle_problem(&cycle, jobs));
                }
                Seen::Done => {}
            }
        }
    }
}

fn cycle_problem(cycle: &[usize], jobs: &[Entry]) -> Problem {
    let first = &jobs[cycle[0]];
    let mut names: Vec<String> = cycle.iter().take(CYCLE_SHOWN).map(|job| short(&jobs[*job].key)).collect();
    if cycle.len() > CYCLE_SHOWN {
        names.push(format!("… ({} jobs)", cycle.len()));
    }
    names.push(short(&first.key));
    let second = cycle.get(1).map_or(&*first.key, |job| &jobs[*job].key);
    let need = items(first).iter().find(|node| node.text() == Some(second));
    let place = need.map_or(first.place, |node| node.place);
    let message = format!("jobs wait for each other: {}", names.join(" → "));
    let hint = "take one of these out of `needs`";
    Problem::new(Code::Cycle, place, message, "this need closes a cycle", hint)
}
