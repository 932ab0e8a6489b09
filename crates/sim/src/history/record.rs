//! The history itself: entries in the order in which they were invoked, each with the moment it ended.

use super::Op;

/// An entry of one history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was done.
    Ok,
    /// It was not done, and never will be.
    Fail,
    /// Nobody can say: no answer, or the client is gone. It may happen at any time after.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Who asked: a thread, a connection, a person.
    pub client: String,
    /// As asked; as answered, once it was.
    pub op: Op,
    /// Moments are counted by the history itself: what ended before something else began has the smaller number.
    pub began: u64,
    /// Nothing while it is on its way: as good as unknown.
    pub ended: Option<(u64, Outcome)>,
}

impl Entry {
    pub fn is_ok(&self) -> bool {
        self.done_at().is_some()
    }

    /// When it was known to be done.
    pub fn done_at(&self) -> Option<u64> {
        self.ended.filter(|(_, outcome)| *outcome == Outcome::Ok).map(|(at, _)| at)
    }

    /// It was done or may have been.
    pub fn may_have_happened(&self) -> bool {
        !matches!(self.ended, Some((_, Outcome::Fail)))
    }

    /// The last moment at which it can have happened, as far as is known.
    pub fn latest(&self) -> u64 {
        self.done_at().unwrap_or(u64::MAX)
    }
}

/// Written by one hand: several threads share one behind a lock, so that its order is the order of the world.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    entries: Vec<Entry>,
    moment: u64,
}

impl History {
    /// Before the request leaves.
    pub fn invoke(&mut self, client: impl Into<String>, op: Op) -> OpId {
        let began = self.next_moment();
        self.entries.push(Entry { client: client.into(), op, began, ended: None });
        OpId(self.entries.len() - 1)
    }

    /// The answer: done.
    pub fn ok(&mut self, id: OpId) {
        self.end(id, Outcome::Ok);
    }

    /// The answer: done, and this is what came of it. The operation as invoked, with what was not known then.
    pub fn ok_with(&mut self, id: OpId, op: Op) {
        self.entries[id.0].op = op;
        self.end(id, Outcome::Ok);
    }

    /// The answer: not done.
    pub fn fail(&mut self, id: OpId) {
        self.end(id, Outcome::Fail);
    }

    /// No answer, or one that says nothing.
    pub fn unknown(&mut self, id: OpId) {
        self.end(id, Outcome::Unknown);
    }

    /// Something that was only seen: begun and done at once.
    pub fn saw(&mut self, client: impl Into<String>, op: Op) {
        let id = self.invoke(client, op);
        self.ok(id);
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The first end counts; a late answer to what was given up says nothing new.
    fn end(&mut self, id: OpId, outcome: Outcome) {
        let at = self.next_moment();
        self.entries[id.0].ended.get_or_insert((at, outcome));
    }

    fn next_moment(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }
}
