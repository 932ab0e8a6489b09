//! Jobs as a tree: each below the last of the jobs it needs.

use std::collections::HashMap;

/// Deeper levels are drawn at this one, so that names stay on the screen.
const DEPTH_MAX: usize = 12;

/// One line of the tree.
#[derive(Debug, PartialEq, Eq)]
pub struct Branch {
    /// Which of the given jobs.
    pub index: usize,
    /// What is drawn before its name.
    pub lines: String,
}

/// The jobs in the order of the tree; a job is a name and the names it needs.
pub fn branches(jobs: &[(&str, &[String])]) -> Vec<Branch> {
    let places: HashMap<&str, usize> = jobs.iter().enumerate().map(|(place, job)| (job.0, place)).collect();
    let depths = depths(jobs, &places);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); jobs.len()];
    let mut roots = Vec::new();
    for (index, (_, needs)) in jobs.iter().enumerate() {
        let needed = needs.iter().filter_map(|name| places.get(name.as_str()).copied());
        // The deepest need is the one that is waited for longest.
        match needed.filter(|need| depths[*need] < depths[index]).max_by_key(|need| (depths[*need], *need)) {
            Some(parent) => children[parent].push(index),
            None => roots.push(index),
        }
    }
    drawn(roots, &children)
}

fn drawn(roots: Vec<usize>, children: &[Vec<usize>]) -> Vec<Branch> {
    let mut branches = Vec::with_capacity(children.len());
    // A stack instead of recursion: a plan may be a chain of thousands.
    let mut open: Vec<(usize, String, bool)> =
        roots.into_iter().rev().map(|index| (index, String::new(), true)).collect();
    while let Some((index, rail, is_root)) = open.pop() {
        let has_sibling = !is_root && rail.ends_with("├─ ");
        branches.push(Branch { index, lines: rail.clone() });
        let below = match (is_root, has_sibling) {
            (true, _) => String::new(),
            (false, true) => replaced_end(&rail, "│  "),
            (false, false) => replaced_end(&rail, "   "),
        };
        let below = if below.chars().count() / 3 >= DEPTH_MAX { cut(&rail) } else { below };
        for (place, child) in children[index].iter().enumerate().rev() {
            let end = if place + 1 == children[index].len() { "└─ " } else { "├─ " };
            open.push((*child, format!("{below}{end}"), false));
        }
    }
    branches
}

fn replaced_end(rail: &str, end: &str) -> String {
    cut(rail) + end
}

/// Without its last level.
fn cut(rail: &str) -> String {
    let letters = rail.chars().count().saturating_sub(3);
    rail.chars().take(letters).collect()
}

/// How many jobs stand before each; the plan has no cycle, and one that had would still end.
fn depths(jobs: &[(&str, &[String])], places: &HashMap<&str, usize>) -> Vec<usize> {
    let mut depths = vec![0; jobs.len()];
    let mut waiting: Vec<usize> = vec![0; jobs.len()];
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); jobs.len()];
    for (index, (_, needs)) in jobs.iter().enumerate() {
        for need in needs.iter().filter_map(|name| places.get(name.as_str())) {
            dependents[*need].push(index);
            waiting[index] += 1;
        }
    }
    let mut ready: Vec<usize> = (0..jobs.len()).filter(|index| waiting[*index] == 0).collect();
    while let Some(index) = ready.pop() {
        for dependent in &dependents[index] {
            depths[*dependent] = depths[*dependent].max(depths[index] + 1);
            waiting[*dependent] -= 1;
            if waiting[*dependent] == 0 {
                ready.push(*dependent);
            }
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(jobs: &[(&str, &[&str])], expected: &[&str]) {
        let needs: Vec<Vec<String>> =
            jobs.iter().map(|job| job.1.iter().map(|need| need.to_string()).collect()).collect();
        let given: Vec<(&str, &[String])> =
            jobs.iter().zip(&needs).map(|(job, needs)| (job.0, needs.as_slice())).collect();
        let drawn: Vec<String> = branches(&given)
            .iter()
            .map(|branch| format!("{}{}", branch.lines, given[branch.index].0))
            .collect();
        assert_eq!(drawn, expected);
    }

    #[test]
    fn a_job_stands_below_the_last_it_needs() {
        let jobs: &[(&str, &[&str])] = &[
            ("lint", &[]),
            ("unit", &["lint"]),
            ("docs", &["lint"]),
            ("deploy", &["lint", "unit"]),
            ("other", &[]),
        ];
        check(jobs, &["lint", "├─ unit", "│  └─ deploy", "└─ docs", "other"]);
    }

    #[test]
    fn what_cannot_be_is_drawn_all_the_same() {
        check(&[("a", &["b"]), ("b", &["a"]), ("c", &["gone"])], &["a", "b", "c"]);
    }

    #[test]
    fn a_long_chain_stays_on_the_screen() {
        let names: Vec<String> = (0..5_000).map(|index| format!("j{index}")).collect();
        let needs: Vec<Vec<String>> = (0..5_000)
            .map(|index: usize| index.checked_sub(1).map(|need| names[need].clone()).into_iter().collect())
            .collect();
        let jobs: Vec<(&str, &[String])> =
            names.iter().zip(&needs).map(|(name, needs)| (name.as_str(), needs.as_slice())).collect();
        let branches = branches(&jobs);
        assert_eq!(branches.len(), 5_000);
        assert!(branches.iter().all(|branch| branch.lines.chars().count() <= 3 * (DEPTH_MAX + 1)));
    }
}
