//! One job becomes many: every combination of a matrix's values, in the order they were written, the last key fastest.

use std::collections::HashSet;

use super::fill::Values;
use crate::problem::{Code, Place, Problem, Problems, short};
use crate::yaml::{Entry, Node};

/// Of one job.
pub const COMBINATIONS_MAX: usize = 256;

#[derive(Debug, Default)]
pub struct Matrix<'a> {
    axes: Vec<(&'a str, Vec<&'a str>)>,
    /// How many jobs it makes: one without a matrix.
    pub count: usize,
}

impl<'a> Matrix<'a> {
    /// What is wrong with single values was said before; such a matrix counts as none.
    pub fn read(node: Option<&'a Node>, place: Place, problems: &mut Problems) -> Matrix<'a> {
        let mut axes = Vec::new();
        for Entry { key, value, .. } in node.map_or(&[][..], Node::entries) {
            let values = different(value.items(), problems);
            if !values.is_empty() {
                axes.push((&**key, values));
            }
        }
        let lengths = axes.iter().map(|(_, values)| values.len());
        let count = lengths.fold(1_usize, usize::saturating_mul);
        if count > COMBINATIONS_MAX {
            let message = format!("the matrix makes {count} jobs; at most {COMBINATIONS_MAX} are allowed");
            let hint = "use fewer values, or several jobs with a matrix each";
            problems.add(Problem::new(Code::TooManyJobs, place, message, "too many combinations", hint));
            return Matrix { axes: Vec::new(), count: 1 };
        }
        Matrix { axes, count }
    }

    /// The keys and values of one of the jobs.
    pub fn combination(&self, number: usize) -> Vec<(&'a str, &'a str)> {
        let mut rest = number;
        let mut picked: Vec<_> = self
            .axes
            .iter()
            .rev()
            .map(|(key, values)| {
                let value = values[rest % values.len()];
                rest /= values.len();
                (*key, value)
            })
            .collect();
        picked.reverse();
        picked
    }
}

/// `unit-tests (debug, linux)`.
pub fn name_of(base: &str, values: &Values<'_>) -> String {
    if values.is_empty() {
        return base.to_owned();
    }
    let values: Vec<&str> =
        values.iter().map(|(_, value)| if value.is_empty() { "\"\"" } else { *value }).collect();
    format!("{base} ({})", values.join(", "))
}

/// The values of a key, each once.
fn different<'a>(items: &'a [Node], problems: &mut Problems) -> Vec<&'a str> {
    let (mut seen, mut values) = (HashSet::new(), Vec::new());
    for item in items {
        let Some(text) = item.text() else { continue };
        if seen.insert(text) {
            values.push(text);
            continue;
        }
        let message = format!("the value `{}` is in the matrix twice", short(text));
        let hint = "take one of the two out";
        problems.add(Problem::new(Code::DuplicateJob, item.place, message, "again", hint));
    }
    values
}
