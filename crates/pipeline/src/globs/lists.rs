//! Lists of patterns, each kept once however many jobs have it.

use std::collections::HashMap;

use super::index::Index;
use super::pattern::{BadGlob, normal, parts};

#[derive(Debug, Default)]
pub struct Lists {
    patterns: Vec<String>,
    numbers: HashMap<String, u32>,
    lists: Vec<List>,
    ids: HashMap<List, ListId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListId(u32);

/// Numbers of patterns, sorted, each once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct List {
    pub includes: Vec<u32>,
    pub excludes: Vec<u32>,
}

/// An entry that cannot be used, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadPattern {
    pub entry: String,
    pub problem: String,
}

impl ListId {
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

impl Lists {
    /// `None` means all files.
    pub fn add(&mut self, entries: Option<&[String]>) -> Result<ListId, BadPattern> {
        let mut list = List { includes: Vec::new(), excludes: Vec::new() };
        for entry in entries.unwrap_or_default() {
            let (away, text) = parts(entry);
            let number = self.number(entry, text)?;
            if away { list.excludes.push(number) } else { list.includes.push(number) }
        }
        // An empty list has no files; one that only takes files away begins with all of them.
        if list.includes.is_empty() && (entries.is_none() || !list.excludes.is_empty()) {
            list.includes.push(self.number("**", "**")?);
        }
        for numbers in [&mut list.includes, &mut list.excludes] {
            numbers.sort_unstable();
            numbers.dedup();
        }
        if let Some(id) = self.ids.get(&list) {
            return Ok(*id);
        }
        let id = ListId(u32::try_from(self.lists.len()).expect("fewer lists than a file has bytes"));
        self.lists.push(list.clone());
        self.ids.insert(list, id);
        Ok(id)
    }

    fn number(&mut self, entry: &str, text: &str) -> Result<u32, BadPattern> {
        let bad = |bad: BadGlob| BadPattern { entry: entry.into(), problem: bad.to_string() };
        let text = text.strip_prefix("./").unwrap_or(text);
        if let Some(number) = self.numbers.get(text) {
            return Ok(*number);
        }
        normal(text).map_err(bad)?;
        let number = u32::try_from(self.patterns.len()).expect("fewer patterns than a file has bytes");
        self.patterns.push(text.into());
        self.numbers.insert(text.into(), number);
        Ok(number)
    }

    /// All patterns together. Each can be used by itself; fails when they are too much in sum.
    pub fn index(&self) -> Result<Index, String> {
        Index::new(&self.patterns)
    }

    pub fn all(&self) -> impl Iterator<Item = (ListId, &List)> {
        (0..).map(ListId).zip(&self.lists)
    }

    pub fn len(&self) -> usize {
        self.lists.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    pub fn list(&self, id: ListId) -> &List {
        &self.lists[id.place()]
    }

    pub fn patterns(&self) -> usize {
        self.patterns.len()
    }
}
