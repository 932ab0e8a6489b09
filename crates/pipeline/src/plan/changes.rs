//! What changed, for each list of patterns.

use crate::globs::{Index, ListId, Lists};

/// The most files that a reason names.
const FILES_MAX: usize = 20;

/// The changed files that one list names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    pub count: usize,
    /// The first of them, by path.
    pub first: Vec<Box<[u8]>>,
}

/// For every list. A file that is in `always` counts for each of them.
pub fn changes(lists: &Lists, index: &Index, changed: &[Box<[u8]>], always: Option<&[u8]>) -> Vec<Changes> {
    let mut sorted: Vec<&Box<[u8]>> = changed.iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    let with = having(lists);
    let mut seen = vec![usize::MAX; lists.len()];
    let mut of_list = vec![Changes::default(); lists.len()];
    let mut found = Vec::new();
    for (place, path) in sorted.into_iter().enumerate() {
        if always == Some(path) {
            of_list.iter_mut().for_each(|changes| changes.add(path));
            continue;
        }
        index.matching(path, &mut found);
        // What is taken away counts as seen already.
        for list in found.iter().flat_map(|pattern| &with[*pattern as usize].excluding) {
            seen[list.place()] = place;
        }
        for list in found.iter().flat_map(|pattern| &with[*pattern as usize].including) {
            if seen[list.place()] != place {
                seen[list.place()] = place;
                of_list[list.place()].add(path);
            }
        }
    }
    of_list
}

impl Changes {
    fn add(&mut self, path: &[u8]) {
        self.count += 1;
        if self.first.len() < FILES_MAX {
            self.first.push(path.into());
        }
    }
}

/// The lists that have a pattern.
#[derive(Default, Clone)]
struct Having {
    including: Vec<ListId>,
    excluding: Vec<ListId>,
}

fn having(lists: &Lists) -> Vec<Having> {
    let mut with = vec![Having::default(); lists.patterns()];
    for (id, list) in lists.all() {
        list.includes.iter().for_each(|pattern| with[*pattern as usize].including.push(id));
        list.excludes.iter().for_each(|pattern| with[*pattern as usize].excluding.push(id));
    }
    with
}
