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

pub struct Reader {
    base: PathBuf,
    /// Follows along, to know what a path means.
    medium: Medium,
    open: HashMap<i64, Open>,
    history: History,
}

/// Names of links that say what was acknowledged: in the trace they stand among the writes, and no fault hits them.
pub const ACKNOWLEDGED: &str = "ack:";
pub const REFUSED: &str = "no:";

/// SQLite's shared memory means nothing after a cut: it is made anew from the log.
const IGNORED: &str = "-shm";

impl Reader {
    pub fn read(base: &Path, before: Medium, calls: &[Call]) -> History {
        let (base, history) = (base.to_path_buf(), Vec::new());
        let mut reader = Reader { base, medium: before, open: HashMap::new(), history };
        calls.iter().for_each(|call| reader.take(call));
        reader.history
    }

    fn take(&mut self, call: &Call) {
        if call.result < 0 {
            if let "fsync" | "fdatasync" = call.name.as_str()
                && let Some(open) = self.open.get(&call.number(0))
            {
                self.history.push((call.ended, Event::SyncFailed(open.id)));
            }
            return; // nothing happened
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
        let path = self.path_of(what).unwrap_or_default();
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
        Event::Acknowledged | Event::Refused(_) => {}
    }
}
