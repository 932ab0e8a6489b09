//! A disk as POSIX promises it: what was synced stays, of the rest any part may be there after a cut.
//!
//! A file's bytes and length are kept by a sync of the file, its name by a sync of the folder that holds it. A rename
//! happens whole or not at all, and is kept by a sync of the folder it leads to. After a failed sync the file's changes
//! are gone for good, though the process still reads them: the kernel calls their pages clean.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

pub type Id = usize;
pub const ROOT: Id = 0;

/// What the disk holds, reachable from the root or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disk {
    folders: BTreeMap<Id, BTreeMap<String, Id>>,
    files: BTreeMap<Id, Arc<Vec<u8>>>,
}

#[derive(Debug, Clone)]
pub enum Change {
    Write { file: Id, offset: usize, bytes: Arc<[u8]> },
    Length { file: Id, length: usize },
    Link { folder: Id, name: String, to: Id },
    Unlink { folder: Id, name: String },
    Rename { from: (Id, String), to: (Id, String), what: Id },
}

impl Change {
    /// Of this change, done at this moment, as far as it was done.
    fn print(&self, moment: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        moment.hash(&mut hasher);
        if let Change::Write { offset, bytes, .. } = self {
            (offset, bytes.len()).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Whose sync keeps it.
    fn belongs_to(&self) -> Id {
        match self {
            Change::Write { file, .. } | Change::Length { file, .. } => *file,
            Change::Link { folder, .. } | Change::Unlink { folder, .. } => *folder,
            Change::Rename { to: (folder, _), .. } => *folder,
        }
    }
}

impl Disk {
    pub fn empty() -> Disk {
        Disk { folders: BTreeMap::from([(ROOT, BTreeMap::new())]), files: BTreeMap::new() }
    }

    pub fn entry(&self, folder: Id, name: &str) -> Option<Id> {
        self.folders.get(&folder)?.get(name).copied()
    }

    pub fn is_folder(&self, id: Id) -> bool {
        self.folders.contains_key(&id)
    }

    pub fn length(&self, file: Id) -> usize {
        self.files[&file].len()
    }

    /// Something new, without a name.
    fn make(&mut self, id: Id, folder: bool) {
        if folder {
            self.folders.insert(id, BTreeMap::new());
        } else {
            self.files.insert(id, Arc::default());
        }
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Write { file, offset, bytes } => {
                let content = Arc::make_mut(self.files.get_mut(file).expect("it was made"));
                if *offset > content.len() {
                    content.resize(*offset, 0); // what was skipped is a hole
                }
                let (over, behind) = bytes.split_at(bytes.len().min(content.len() - offset));
                content[*offset..offset + over.len()].copy_from_slice(over);
                content.extend_from_slice(behind);
            }
            Change::Length { file, length } => {
                Arc::make_mut(self.files.get_mut(file).expect("it was made")).resize(*length, 0);
            }
            Change::Link { folder, name, to } => drop(self.names(*folder).insert(name.clone(), *to)),
            Change::Unlink { folder, name } => drop(self.names(*folder).remove(name)),
            Change::Rename { from, to, what } => {
                self.names(from.0).remove(&from.1);
                self.names(to.0).insert(to.1.clone(), *what);
            }
        }
    }

    fn names(&mut self, folder: Id) -> &mut BTreeMap<String, Id> {
        self.folders.get_mut(&folder).expect("it was made")
    }

    /// Where something lies, below the root.
    pub fn path_of(&self, what: Id) -> Option<String> {
        self.path_below(ROOT, what).map(|path| path.trim_start_matches('/').to_owned())
    }

    fn path_below(&self, folder: Id, what: Id) -> Option<String> {
        if folder == what {
            return Some(String::new());
        }
        self.folders.get(&folder)?.iter().find_map(|(name, id)| {
            let below = if *id == what { Some(String::new()) } else { self.path_below(*id, what) };
            below.map(|rest| format!("/{name}{rest}"))
        })
    }

    /// Disks with the same names and bytes have the same print.
    pub fn print(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.print_below(ROOT, &mut hasher);
        hasher.finish()
    }

    fn print_below(&self, id: Id, hasher: &mut DefaultHasher) {
        match self.folders.get(&id) {
            Some(names) => names.iter().for_each(|(name, id)| {
                name.hash(hasher);
                self.print_below(*id, hasher);
                0xffu8.hash(hasher);
            }),
            None => self.files[&id].hash(hasher),
        }
    }

    /// Into a real folder.
    pub fn write_to(&self, folder: &Path) {
        self.write_below(ROOT, folder);
    }

    fn write_below(&self, id: Id, folder: &Path) {
        for (name, id) in &self.folders[&id] {
            let path = folder.join(name);
            match self.files.get(id) {
                Some(content) => std::fs::write(path, &**content).expect("there is room"),
                None => {
                    std::fs::create_dir(&path).expect("a new folder");
                    self.write_below(*id, &path);
                }
            }
        }
    }
}

/// What becomes of everything that was not synced when the power goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Dropped,
    Kept,
    /// The first half is there, in the order it was asked for.
    FirstHalf,
    /// The second half is there, the first is not: disks keep no order.
    SecondHalf,
    EveryOther,
    /// All of it, but of the last write only what lies before a border of so many bytes.
    TornAt(usize),
    /// All of it, but of the last write only what lies behind that border.
    TornBefore(usize),
    /// Any part, write by write, each whole or torn between sectors.
    Random(u64),
}

pub const SECTOR: usize = 512;
pub const PAGE: usize = 4096;

/// The disk with what the process sees on it, and with what is safe.
#[derive(Debug, Clone)]
pub struct Medium {
    pub live: Disk,
    durable: Disk,
    /// With the moment at which each was done.
    pending: Vec<(usize, Change)>,
    /// Of all changes that are safe.
    print: u64,
    made: Id,
}

impl Medium {
    pub fn empty() -> Medium {
        Medium { live: Disk::empty(), durable: Disk::empty(), pending: Vec::new(), print: 0, made: ROOT }
    }

    /// All that is in a real folder, safe.
    pub fn holding(path: &Path) -> Medium {
        let mut medium = Medium::empty();
        medium.read_below(ROOT, path);
        medium
    }

    fn read_below(&mut self, folder: Id, path: &Path) {
        for entry in std::fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry")) {
            let name = entry.file_name().into_string().expect("a name that we made");
            let is_folder = entry.file_type().expect("a kind").is_dir();
            let id = self.make(is_folder);
            let content = (!is_folder).then(|| Arc::new(std::fs::read(entry.path()).expect("a file")));
            for disk in [&mut self.live, &mut self.durable] {
                disk.names(folder).insert(name.clone(), id);
                disk.files.extend(content.clone().map(|content| (id, content)));
            }
            if is_folder {
                self.read_below(id, &entry.path());
            }
        }
    }

    pub fn make(&mut self, folder: bool) -> Id {
        self.made += 1;
        self.live.make(self.made, folder);
        self.durable.make(self.made, folder); // without a name it is not there
        self.made
    }

    pub fn change(&mut self, moment: usize, change: Change) {
        self.live.apply(&change);
        self.pending.push((moment, change));
    }

    /// What was done before the sync began is safe.
    pub fn sync(&mut self, id: Id, begun: usize) {
        let (durable, print) = (&mut self.durable, &mut self.print);
        self.pending.retain(|(moment, change)| {
            let kept = change.belongs_to() == id && *moment < begun;
            if kept {
                durable.apply(change);
                *print ^= change.print(*moment);
            }
            !kept
        });
    }

    /// A file's changes are lost, whatever is said later. Names go through the journal and stay pending.
    pub fn sync_failed(&mut self, id: Id) {
        if !self.live.is_folder(id) {
            self.pending.retain(|(_, change)| change.belongs_to() != id);
        }
    }

    /// What is on the disk when the power goes now.
    pub fn cut(&self, fate: Fate) -> Disk {
        let mut disk = self.durable.clone();
        self.survivors(fate).iter().for_each(|(_, change)| disk.apply(change));
        disk
    }

    /// Of what is then on the disk. Two cuts with the same print leave the same, and it is quickly told.
    pub fn cut_print(&self, fate: Fate) -> u64 {
        let survivors = self.survivors(fate).into_iter();
        survivors.fold(self.print, |print, (moment, change)| print ^ change.print(moment))
    }

    fn survivors(&self, fate: Fate) -> Vec<(usize, Change)> {
        let mut survivors = Vec::new();
        let count = self.pending.len();
        let last_write = self.pending.iter().rposition(|(_, it)| matches!(it, Change::Write { .. }));
        let mut random = Random(fate.seed());
        for (index, (moment, change)) in self.pending.iter().enumerate() {
            let is_last = Some(index) == last_write;
            let survived = match fate {
                Fate::Dropped => None,
                Fate::Kept => Some(change.clone()),
                Fate::FirstHalf => (index < count / 2).then(|| change.clone()),
                Fate::SecondHalf => (index >= count / 2).then(|| change.clone()),
                Fate::EveryOther => (index % 2 == 1).then(|| change.clone()),
                Fate::TornAt(border) if is_last => torn(change, border, false),
                Fate::TornBefore(border) if is_last => torn(change, border, true),
                Fate::TornAt(_) | Fate::TornBefore(_) => Some(change.clone()),
                Fate::Random(_) => match random.next() % 8 {
                    0..=2 => None,
                    3 => torn(change, SECTOR, false),
                    4 => torn(change, SECTOR, true),
                    _ => Some(change.clone()),
                },
            };
            survivors.extend(survived.map(|change| (*moment, change)));
        }
        survivors
    }
}

/// A write in two at the border nearest to its middle; anything else is whole. Nothing when no border lies within.
fn torn(change: &Change, border: usize, keep_the_end: bool) -> Option<Change> {
    let Change::Write { file, offset, bytes } = change else { return Some(change.clone()) };
    let middle = (offset + bytes.len() / 2).next_multiple_of(border);
    let at = middle.checked_sub(*offset).filter(|at| *at < bytes.len())?;
    let (offset, bytes) = if keep_the_end { (offset + at, &bytes[at..]) } else { (*offset, &bytes[..at]) };
    Some(Change::Write { file: *file, offset, bytes: bytes.into() })
}

impl Fate {
    fn seed(self) -> u64 {
        if let Fate::Random(seed) = self { seed } else { 0 }
    }
}

/// The same numbers for the same seed (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        let mut state = self.0 ^ 0x9e37_79b9_7f4a_7c15;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.0 = state;
        state >> 11
    }
}

#[test]
fn only_what_was_synced_before_its_end_survives_a_cut() {
    let mut medium = Medium::empty();
    let (folder, file) = (medium.make(true), medium.make(false));
    medium.change(1, Change::Link { folder: ROOT, name: "f".into(), to: folder });
    medium.change(2, Change::Link { folder, name: "a".into(), to: file });
    medium.change(3, Change::Write { file, offset: 0, bytes: (*b"first").into() });
    medium.sync(file, 4);
    let nothing = medium.cut(Fate::Dropped);
    assert_eq!(nothing.entry(ROOT, "f"), None, "bytes without a name");
    medium.sync(folder, 5);
    assert_eq!(medium.cut(Fate::Dropped).entry(ROOT, "f"), None, "a name in a folder without one");
    medium.sync(ROOT, 6);
    medium.change(8, Change::Write { file, offset: 5, bytes: (*b" and second").into() });
    medium.sync(file, 7); // begun before the write ended
    let dropped = medium.cut(Fate::Dropped);
    assert_eq!(dropped.files[&dropped.entry(folder, "a").expect("its name is safe")].as_slice(), b"first");
    medium.sync_failed(file);
    medium.sync(file, 9);
    assert_eq!(medium.cut(Fate::Kept).files[&file].as_slice(), b"first", "a failed sync loses it for good");
    assert_eq!(medium.live.files[&file].as_slice(), b"first and second", "but the process sees it");
}

#[test]
fn a_write_is_torn_at_a_border_of_the_file() {
    let bytes: Arc<[u8]> = vec![7; 4096].into();
    let write = Change::Write { file: 1, offset: 56, bytes };
    let lengths = [(SECTOR, false), (SECTOR, true), (PAGE, false), (PAGE, true)].map(|(border, end)| {
        let Some(Change::Write { offset, bytes, .. }) = torn(&write, border, end) else { panic!("a piece") };
        (offset, bytes.len())
    });
    assert_eq!(lengths, [(56, 2504), (2560, 1592), (56, 4040), (4096, 56)]);
}
