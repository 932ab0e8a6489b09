//! Archives of caches: what goes in comes out, and what is hostile stays out.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use lz4_flex::frame::FrameEncoder;
use runner::artifacts::Notes;
use runner::caches::{Amount, Grounds, Spot, Trouble, pack, unpack};
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

const MIB: u64 = 1024 * 1024;

struct Ground {
    folder: TempDir,
}

impl Ground {
    fn new() -> Ground {
        let ground = Ground { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(ground.at("workspace")).unwrap();
        fs::create_dir(ground.at("home")).unwrap();
        ground
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, content: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), content).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn grounds(&self) -> Grounds {
        Grounds { workspace: self.at("workspace"), home: Some(self.at("home")) }
    }

    fn pack(&self, paths: &[&str], bytes_max: u64) -> (Result<Option<Amount>, Trouble>, Vec<String>) {
        let mut notes = Notes::default();
        let packed =
            pack(&self.at("archive"), &spots(paths), &self.grounds(), bytes_max, &mut notes, &|| true);
        (packed, notes.lines())
    }

    fn unpack(
        &self,
        archive: &Path,
        paths: &[&str],
        bytes_max: u64,
    ) -> (Result<Amount, Trouble>, Vec<String>) {
        let mut notes = Notes::default();
        let archive = File::open(archive).unwrap();
        let unpacked = unpack(archive, &spots(paths), &self.grounds(), bytes_max, &mut notes, &|| true);
        (unpacked, notes.lines())
    }
}

fn spots(paths: &[&str]) -> Vec<Spot> {
    paths.iter().map(|path| Spot::parse(path).unwrap()).collect()
}

#[test]
fn what_was_packed_comes_back_as_it_was() {
    let (before, after) = (Ground::new(), Ground::new());
    let long = format!("workspace/target/{}/{}", "d".repeat(150), "f".repeat(150));
    before.write("workspace/target/a/b/file", "hello");
    before.write(&long, "far away");
    before.write("workspace/other", "not named");
    before.write("workspace/single", "one file");
    before.write("home/.cargo/registry/x", "from home");
    fs::create_dir(before.at("workspace/target/empty")).unwrap();
    symlink("a/b/file", before.at("workspace/target/link")).unwrap();
    symlink("/usr/bin/env", before.at("workspace/target/absolute")).unwrap();
    let tool = before.at("workspace/target/tool");
    fs::write(&tool, "#!/bin/sh").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o4755)).unwrap();
    let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    File::options().write(true).open(&tool).unwrap().set_modified(then).unwrap();
    let paths = ["target", "single", "~/.cargo/registry", "never/made"];
    let (packed, notes) = before.pack(&paths, MIB);
    assert_eq!((packed.unwrap().unwrap().bytes, notes), (5 + 8 + 8 + 9 + 9, vec![]));
    after.write("workspace/target/a/b/file", "from the checkout");
    after.write("workspace/target/mine", "stays");
    let (unpacked, notes) = after.unpack(&before.at("archive"), &paths, MIB);
    assert_eq!((unpacked.unwrap().bytes, notes), (39, vec![]));
    assert_eq!(after.read("workspace/target/a/b/file"), "hello");
    assert_eq!(after.read(&long), "far away");
    assert_eq!(after.read("workspace/single"), "one file");
    assert_eq!(after.read("home/.cargo/registry/x"), "from home");
    assert_eq!(after.read("workspace/target/mine"), "stays");
    assert!(!after.at("workspace/other").exists() && after.at("workspace/target/empty").is_dir());
    assert_eq!(fs::read_link(after.at("workspace/target/link")).unwrap(), Path::new("a/b/file"));
    assert_eq!(fs::read_link(after.at("workspace/target/absolute")).unwrap(), Path::new("/usr/bin/env"));
    let tool = fs::metadata(after.at("workspace/target/tool")).unwrap();
    assert_eq!((tool.permissions().mode() & 0o7777, tool.mtime()), (0o755, 1_000_000_000));
}

#[test]
fn the_same_files_make_the_same_archive() {
    let ground = Ground::new();
    for name in ["b", "a", "c/d"] {
        ground.write(&format!("workspace/target/{name}"), name);
    }
    ground.pack(&["target"], MIB).0.unwrap();
    let first = fs::read(ground.at("archive")).unwrap();
    fs::remove_file(ground.at("archive")).unwrap();
    ground.pack(&["target"], MIB).0.unwrap();
    assert_eq!(fs::read(ground.at("archive")).unwrap(), first);
}

#[test]
fn nothing_that_leads_out_is_packed() {
    let ground = Ground::new();
    ground.write("secret", "s");
    ground.write("workspace/real/file", "x");
    symlink(ground.at(""), ground.at("workspace/out")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        ground.at("workspace/real/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let (packed, notes) = ground.pack(&["out", "out/secret", "real"], MIB);
    assert_eq!(packed.unwrap(), Some(Amount { files: 2, bytes: 1 }));
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("`real/pipe` is left out")), "{notes:?}");
    let nothing = ground.at("archive");
    fs::remove_file(&nothing).unwrap();
    assert_eq!(ground.pack(&["out", "none"], MIB).0.unwrap(), None);
    assert!(!nothing.exists() && !nothing.with_extension("part").exists());
}

#[test]
fn what_is_too_large_is_not_packed() {
    let ground = Ground::new();
    ground.write("workspace/a", &"x".repeat(2000));
    assert!(matches!(ground.pack(&["a"], 1999).0, Err(Trouble::TooLarge(1999))));
    assert!(!ground.at("archive").exists());
}

struct Forger {
    builder: Builder<Vec<u8>>,
}

impl Forger {
    fn new() -> Forger {
        Forger { builder: Builder::new(Vec::new()) }
    }

    /// As it is, without a look at the name.
    fn add(mut self, kind: EntryType, name: &str, link: &str, content: &[u8]) -> Forger {
        let mut header = Header::new_gnu();
        let old = header.as_old_mut();
        old.name[..name.len()].copy_from_slice(name.as_bytes());
        old.linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o6777);
        header.set_size(content.len() as u64);
        header.set_cksum();
        self.builder.append(&header, content).unwrap();
        self
    }

    fn file(self, name: &str) -> Forger {
        self.add(EntryType::Regular, name, "", b"evil")
    }

    fn into(self, path: &Path) {
        let mut encoder = FrameEncoder::new(File::create(path).unwrap());
        encoder.write_all(&self.builder.into_inner().unwrap()).unwrap();
        encoder.finish().unwrap();
    }
}

#[test]
fn a_hostile_archive_stays_within_the_paths_that_the_job_names() {
    let ground = Ground::new();
    ground.write("victim", "untouched");
    ground.write("workspace/source", "untouched");
    let victim = ground.at("victim").display().to_string();
    Forger::new()
        .file("../victim")
        .file("workspace/../victim")
        .file("workspace/target/../../victim")
        .file("workspace/target/../source")
        .file(&victim)
        .file("/workspace/target/rooted")
        .file("workspace/source")
        .file("workspace")
        .file("home/.bashrc")
        .file("elsewhere/target/x")
        .add(EntryType::Symlink, "workspace/target/up", "../..", b"")
        .file("workspace/target/up/victim")
        .add(EntryType::Symlink, "workspace/target/direct", &victim, b"")
        .file("workspace/target/direct")
        .add(EntryType::Link, "workspace/target/hard", &victim, b"")
        .add(EntryType::Char, "workspace/target/device", "", b"")
        .add(EntryType::Fifo, "workspace/target/pipe", "", b"")
        .add(EntryType::XHeader, "workspace/target/pax", "", b"23 path=../../victim\n\n\n\n")
        .add(EntryType::Symlink, "workspace/target/nowhere", "", b"")
        .file("workspace/target/good")
        .into(&ground.at("archive"));
    let (unpacked, notes) = ground.unpack(&ground.at("archive"), &["target"], MIB);
    unpacked.unwrap();
    assert_eq!(
        (ground.read("victim"), ground.read("workspace/source")),
        ("untouched".into(), "untouched".into())
    );
    assert_eq!(ground.read("workspace/target/good"), "evil");
    assert_eq!(ground.read("workspace/target/direct"), "evil", "in place of the link, not through it");
    let mut here: Vec<String> = fs::read_dir(ground.at("workspace/target"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    here.sort();
    assert_eq!(here, ["direct", "good", "up"]);
    assert!(!ground.at("home/.bashrc").exists() && !ground.at("workspace/workspace").exists());
    let mode = fs::metadata(ground.at("workspace/target/good")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7000, 0, "no set-user bit");
    assert!(notes.iter().any(|note| note.contains("the job names no such path")), "{notes:?}");
}

#[test]
fn a_link_in_the_checkout_is_not_followed() {
    let ground = Ground::new();
    fs::create_dir(ground.at("outside")).unwrap();
    symlink(ground.at("outside"), ground.at("workspace/target")).unwrap();
    Forger::new().file("workspace/target/x").into(&ground.at("archive"));
    let (unpacked, notes) = ground.unpack(&ground.at("archive"), &["target"], MIB);
    assert_eq!((unpacked.unwrap().files, notes.len()), (0, 1), "{notes:?}");
    assert!(!ground.at("outside/x").exists());
}

#[test]
fn a_small_archive_that_holds_much_is_given_up() {
    let ground = Ground::new();
    let zeros = vec![0; 8 * MIB as usize];
    Forger::new().add(EntryType::Regular, "workspace/target/zeros", "", &zeros).into(&ground.at("archive"));
    assert!(fs::metadata(ground.at("archive")).unwrap().len() < MIB);
    let (unpacked, _) = ground.unpack(&ground.at("archive"), &["target"], MIB);
    assert!(matches!(unpacked, Err(Trouble::TooLarge(MIB))), "{unpacked:?}");
    assert!(fs::metadata(ground.at("workspace/target/zeros")).unwrap().len() <= MIB);
    // A name that says it is megabytes long is not read.
    Forger::new()
        .add(EntryType::GNULongName, "././@LongLink", "", &zeros)
        .file("workspace/target/x")
        .into(&ground.at("archive"));
    let (unpacked, _) = ground.unpack(&ground.at("archive"), &["target"], MIB);
    assert!(unpacked.unwrap_err().to_string().contains("longer than any path"));
}

#[test]
fn what_is_no_archive_is_said_to_be_none() {
    let ground = Ground::new();
    for bytes in [&b""[..], b"no archive at all", &[0; 4096]] {
        fs::write(ground.at("archive"), bytes).unwrap();
        let (unpacked, _) = ground.unpack(&ground.at("archive"), &["target"], MIB);
        assert!(unpacked.map_or(true, |amount| amount == Amount::default()));
    }
    // One that was cut off.
    let source = Ground::new();
    source
        .write("workspace/target/a", &(0..200_000u32).map(|number| format!("{number} ")).collect::<String>());
    source.pack(&["target"], 10 * MIB).0.unwrap();
    let whole = fs::read(source.at("archive")).unwrap();
    fs::write(ground.at("archive"), &whole[..whole.len() / 2]).unwrap();
    assert!(ground.unpack(&ground.at("archive"), &["target"], 10 * MIB).0.is_err());
}

#[test]
fn whoever_no_longer_cares_stops_it() {
    let ground = Ground::new();
    ground.write("workspace/a", "x");
    let mut notes = Notes::default();
    let packed = pack(&ground.at("archive"), &spots(&["a"]), &ground.grounds(), MIB, &mut notes, &|| false);
    assert!(matches!(packed, Err(Trouble::Stopped)));
    Forger::new().file("workspace/a").into(&ground.at("archive"));
    let archive = File::open(ground.at("archive")).unwrap();
    let unpacked = unpack(archive, &spots(&["a"]), &ground.grounds(), MIB, &mut notes, &|| false);
    assert!(matches!(unpacked, Err(Trouble::Stopped)));
}
