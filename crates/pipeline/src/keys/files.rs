//! Digests of the files that a list of patterns names.
//!
//! A list's digest is made of those of its patterns, and a pattern's files are hashed once however many lists have it:
//! a workspace of two thousand projects that use one another would otherwise hash every file a thousand times.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use sha2::{Digest as _, Sha256};

use super::input::Framed;
use crate::globs::{Index, ListId, Lists};
use crate::tree::{File, Kind, Tree};

/// By pattern and by what is taken away from it; none for no files.
type Digests<'a> = HashMap<(u32, &'a [u32]), Option<[u8; 32]>>;

pub struct Files<'a> {
    tree: &'a Tree,
    lists: &'a Lists,
    /// For every pattern, the places of the files it matches.
    matched: Vec<Vec<u32>>,
    /// For every set of patterns that take files away, which files those are.
    away: RefCell<HashMap<&'a [u32], Rc<[bool]>>>,
    digests: RefCell<Digests<'a>>,
}

impl<'a> Files<'a> {
    /// Matches every file once.
    pub fn new(tree: &'a Tree, lists: &'a Lists, index: &Index) -> Files<'a> {
        let mut matched = vec![Vec::new(); lists.patterns()];
        let mut found = Vec::new();
        for (place, file) in (0..).zip(tree.files()) {
            index.matching(&file.path, &mut found);
            found.iter().for_each(|pattern| matched[*pattern as usize].push(place));
        }
        Files { tree, lists, matched, away: RefCell::default(), digests: RefCell::default() }
    }

    /// Of the files that a list names: their paths, kinds and contents. `None` if it names none.
    pub fn digest(&self, list: ListId) -> Option<[u8; 32]> {
        let list = self.lists.list(list);
        let digests = list.includes.iter().filter_map(|pattern| self.of_pattern(*pattern, &list.excludes));
        let mut digests: Vec<[u8; 32]> = digests.collect();
        digests.sort_unstable();
        digests.dedup();
        match digests.as_slice() {
            [] => None,
            [one] => Some(*one),
            many => {
                let mut hash = Sha256::new();
                many.iter().for_each(|digest| hash.update(digest));
                Some(hash.finalize().into())
            }
        }
    }

    fn of_pattern(&self, pattern: u32, excludes: &'a [u32]) -> Option<[u8; 32]> {
        if let Some(known) = self.digests.borrow().get(&(pattern, excludes)) {
            return *known;
        }
        let away = self.taken_away(excludes);
        let places = self.matched[pattern as usize].iter().map(|place| *place as usize);
        let mut files = places.filter(|place| !away.get(*place).is_some_and(|away| *away)).peekable();
        let digest = files.peek().is_some().then(|| {
            let mut hash = Framed::new();
            files.for_each(|place| add(&mut hash, &self.tree.files()[place]));
            hash.finish()
        });
        self.digests.borrow_mut().insert((pattern, excludes), digest);
        digest
    }

    fn taken_away(&self, excludes: &'a [u32]) -> Rc<[bool]> {
        if excludes.is_empty() {
            return Rc::default();
        }
        if let Some(known) = self.away.borrow().get(excludes) {
            return Rc::clone(known);
        }
        let mut away = vec![false; self.tree.files().len()];
        for place in excludes.iter().flat_map(|pattern| &self.matched[*pattern as usize]) {
            away[*place as usize] = true;
        }
        let away: Rc<[bool]> = away.into();
        self.away.borrow_mut().insert(excludes, Rc::clone(&away));
        away
    }
}

fn add(hash: &mut Framed, file: &File) {
    let kind: &[u8] = match file.kind {
        Kind::Plain => b"plain",
        Kind::Executable => b"executable",
        Kind::Link => b"link",
        Kind::Submodule => b"submodule",
    };
    hash.add(&file.path);
    hash.add(kind);
    hash.add(&file.content.0);
}
