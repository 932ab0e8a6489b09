//! A recording as what happened to the disk below one folder, and what was acknowledged in between.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::medium::{Change, Id, Medium, ROOT};
use super::trace::Call;

#[derive(Debug, Clone)]
pub enum Event {
    Changed(Change),
    /// Of a file or a folder, with the moment it began.
    Synced {
        what: Id,
        begun: usize,
        path: String,
    },
    SyncFailed(Id),
    /// What would have been written, had the disk not said no.
    WriteFailed(Change),
    /// The next step of the story.
    Acknowledged,
    /// What a step was answered with that was not acknowledged.
    Refused(String),
    Made {
        folder: bool,
    },
}

/// In order. The moment is the line of the trace.
pub type History = Vec<(usize, Event)>;

/// An open file or folder, and where the next bytes go.
struct Open {
    id: Id,
    at: usize,
}

/// A call that asked something of the disk: the so manieth of its kind in its thread, the first is 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub call: String,
    pub nth: usize,
}

pub struct Reader {
    base: PathBuf,
    /// Follows along, to know what a path means.
    medium: Medium,
    open: HashMap<i64, Open>,
    history: History,
    /// Calls so far, by thread and name.
    counts: HashMap<(u64, String), usize>,
    has_begun: bool,
    places: Vec<Place>,
}

/// Texts of links that say what was acknowledged.
pub const ACKNOWLEDGED: &str = "ack:";
pub const REFUSED: &str = "no:";
/// From here on its calls are of interest.
pub const BEGUN: &str = "begun:";

/// Where a file lies that has no name yet. The folder of all data is the empty path.
pub const UNNAMED: &str = "?";

/// SQLite's shared memory means nothing after a cut: it is made anew from the log.
const IGNORED: &str = "-shm";

impl Reader {
    /// What happened, and by which calls.
    pub fn read(base: &Path, before: Medium, calls: &[Call]) -> (History, Vec<Place>) {
        let mut reader = Reader {
            base: base.to_path_buf(),
            medium: before,
            open: HashMap::new(),
            history: Vec::new(),
            counts: HashMap::new(),
            has_begun: false,
            places: Vec::new(),
        };
        calls.iter().for_each(|call| reader.count(call));
        (reader.history, reader.places)
    }

    fn count(&mut self, call: &Call) {
        let count = self.counts.entry((call.thread, call.name.clone())).or_default();
        *count += 1;
        let (nth, before) = (*count, self.history.len());
        self.take(call);
        if self.has_begun && self.history.len() > before && call.name != "symlink" {
            self.places.push(Place { call: call.name.clone(), nth });
        }
    }

    fn take(&mut self, call: &Call) {
        if call.result < 0 {
            return self.failed(call);
        }
        match call.name.as_str() {
            "open" => self.opened(None, &call.text(0), 1, call),
            "openat" => self.opened(Some(&call.arguments[0]), &call.text(1), 2, call),
            "close" => drop(self.open.remove(&call.number(0))),
            "read" => self.advanced(call.number(0), call.result),
            "lseek" => self.sought(call),
            "write" | "writev" => self.appended(call),
            "pwrite64" => self.written(call.number(0), call.number(3), &call.bytes(1), call),
            "ftruncate" => self.cut_to(call),
            "fsync" | "fdatasync" => self.synced(call),
            "mkdir" => self.made_folder(None, &call.text(0), call),
            "mkdirat" => self.made_folder(Some(&call.arguments[0]), &call.text(1), call),
            "linkat" => self.linked(call),
            "rename" => self.renamed((None, &call.text(0)), (None, &call.text(1)), call),
            "renameat" | "renameat2" => {
                let (from, to) = (call.text(1), call.text(3));
                self.renamed((Some(&call.arguments[0]), &from), (Some(&call.arguments[2]), &to), call);
            }
            "unlink" | "rmdir" => self.unlinked(None, &call.text(0), call),
            "unlinkat" => self.unlinked(Some(&call.arguments[0]), &call.text(1), call),
            "symlink" => self.acknowledged(&call.text(0), call.ended),
            other => panic!("a call that this disk does not know: {other} {:?}", call.arguments),
        }
    }

    /// Nothing happened, but what was asked for may be gone, or half done.
    fn failed(&mut self, call: &Call) {
        let of_a_file = matches!(call.name.as_str(), "fsync" | "fdatasync" | "pwrite64" | "write" | "writev");
        let Some(open) = of_a_file.then(|| self.open.get(&call.number(0))).flatten() else { return };
        let (file, offset) = (open.id, open.at);
        let write = |offset| Event::WriteFailed(Change::Write { file, offset, bytes: call.bytes(1).into() });
        let event = match call.name.as_str() {
            "pwrite64" => write(call.number(3) as usize),
            "write" | "writev" => write(offset),
            _ => Event::SyncFailed(file),
        };
        self.history.push((call.ended, event));
    }

    /// `flags` is the number of the argument that holds them.
    fn opened(&mut self, at: Option<&str>, path: &str, flags: usize, call: &Call) {
        self.open.remove(&call.result);
        let Some((folder, name)) = self.place(at, path) else { return };
        if name.ends_with(IGNORED) {
            return;
        }
        let found = if name == "." { Some(folder) } else { self.medium.live.entry(folder, &name) };
        let id = match found {
            _ if call.says(flags, "O_TMPFILE") => self.make(false, call),
            Some(id) => id,
            None if call.says(flags, "O_CREAT") => {
                let id = self.make(false, call);
                self.change(Change::Link { folder, name, to: id }, call);
                id
            }
            None => panic!("{path} was opened and is not there"),
        };
        if call.says(flags, "O_TRUNC") && self.medium.live.length(id) > 0 {
            self.change(Change::Length { file: id, length: 0 }, call);
        }
        self.open.insert(call.result, Open { id, at: 0 });
    }

    fn advanced(&mut self, handle: i64, by: i64) {
        if let Some(open) = self.open.get_mut(&handle) {
            open.at += by as usize;
        }
    }

    fn sought(&mut self, call: &Call) {
        if let Some(open) = self.open.get_mut(&call.number(0)) {
            open.at = call.result as usize;
        }
    }

    fn appended(&mut self, call: &Call) {
        let handle = call.number(0);
        let Some(at) = self.open.get(&handle).map(|open| open.at) else { return };
        self.written(handle, at as i64, &call.bytes(1), call);
        self.advanced(handle, call.result);
    }

    fn written(&mut self, handle: i64, offset: i64, bytes: &[u8], call: &Call) {
        let Some(file) = self.open.get(&handle).map(|open| open.id) else { return };
        let written = bytes.get(..call.result as usize).expect("the trace holds every byte");
        self.change(Change::Write { file, offset: offset as usize, bytes: written.into() }, call);
    }

    fn cut_to(&mut self, call: &Call) {
        let Some(file) = self.open.get(&call.number(0)).map(|open| open.id) else { return };
        self.change(Change::Length { file, length: call.number(1) as usize }, call);
    }

    fn synced(&mut self, call: &Call) {
        let Some(what) = self.open.get(&call.number(0)).map(|open| open.id) else { return };
        let path = self.path_of(what).unwrap_or_else(|| UNNAMED.to_owned());
        self.medium.sync(what, call.begun);
        self.history.push((call.ended, Event::Synced { what, begun: call.begun, path }));
    }

    fn made_folder(&mut self, at: Option<&str>, path: &str, call: &Call) {
        let Some((folder, name)) = self.place(at, path) else { return };
        let to = self.make(true, call);
        self.change(Change::Link { folder, name, to }, call);
    }

    fn linked(&mut self, call: &Call) {
        let from = call.text(1);
        let what = match from.strip_prefix("/proc/self/fd/") {
            Some(handle) => self.open.get(&handle.parse().expect("a handle")).map(|open| open.id),
            None => self.found(Some(&call.arguments[0]), &from),
        };
        let Some((folder, name)) = self.place(Some(&call.arguments[2]), &call.text(3)) else { return };
        self.change(Change::Link { folder, name, to: what.expect("a file of ours") }, call);
    }

    fn renamed(&mut self, from: (Option<&str>, &str), to: (Option<&str>, &str), call: &Call) {
        let (Some(from), Some(to)) = (self.place(from.0, from.1), self.place(to.0, to.1)) else { return };
        let what = self.medium.live.entry(from.0, &from.1).expect("it was there to be renamed");
        self.change(Change::Rename { from, to, what }, call);
    }

    fn unlinked(&mut self, at: Option<&str>, path: &str, call: &Call) {
        let Some((folder, name)) = self.place(at, path).filter(|(_, name)| !name.ends_with(IGNORED)) else {
            return;
        };
        self.change(Change::Unlink { folder, name }, call);
    }

    fn acknowledged(&mut self, said: &str, moment: usize) {
        if said.starts_with(ACKNOWLEDGED) {
            self.history.push((moment, Event::Acknowledged));
        } else if let Some(answer) = said.strip_prefix(REFUSED) {
            self.history.push((moment, Event::Refused(answer.to_owned())));
        } else if said.starts_with(BEGUN) {
            self.has_begun = true;
        }
    }

    fn make(&mut self, folder: bool, call: &Call) -> Id {
        self.history.push((call.ended, Event::Made { folder }));
        self.medium.make(folder)
    }

    fn change(&mut self, change: Change, call: &Call) {
        self.medium.change(call.ended, change.clone());
        self.history.push((call.ended, Event::Changed(change)));
    }

    /// The folder and the name in it; nothing when it is not below the base.
    fn place(&self, at: Option<&str>, path: &str) -> Option<(Id, String)> {
        let path = Path::new(path);
        let (mut folder, path) = match path.strip_prefix(&self.base) {
            Ok(below) => (ROOT, below),
            Err(_) if path.is_absolute() => return None,
            Err(_) => (self.open.get(&at?.parse().ok()?)?.id, path),
        };
        let mut names: Vec<&str> = path.iter().map(|name| name.to_str().expect("a name of ours")).collect();
        let name = names.pop().unwrap_or(".").to_owned();
        for name in names {
            folder = self.medium.live.entry(folder, name)?;
        }
        Some((folder, name))
    }

    fn found(&self, at: Option<&str>, path: &str) -> Option<Id> {
        let (folder, name) = self.place(at, path)?;
        self.medium.live.entry(folder, &name)
    }

    fn path_of(&self, what: Id) -> Option<String> {
        self.medium.live.path_of(what)
    }
}

/// Does to a medium what an event says.
pub fn replay(medium: &mut Medium, (moment, event): &(usize, Event)) {
    match event {
        Event::Changed(change) => medium.change(*moment, change.clone()),
        Event::Synced { what, begun, .. } => medium.sync(*what, *begun),
        Event::SyncFailed(what) => medium.sync_failed(*what),
        Event::Made { folder } => drop(medium.make(*folder)),
        Event::WriteFailed(_) | Event::Acknowledged | Event::Refused(_) => {}
    }
}

/// The same, but of a write that failed the first half was done.
pub fn replay_torn(medium: &mut Medium, happened: &(usize, Event)) {
    if let Event::WriteFailed(Change::Write { file, offset, bytes }) = &happened.1 {
        let bytes = bytes[..bytes.len() / 2].into();
        medium.change(happened.0, Change::Write { file: *file, offset: *offset, bytes });
    } else {
        replay(medium, happened);
    }
}
