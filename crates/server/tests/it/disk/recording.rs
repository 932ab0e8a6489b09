//! The story, or a part of it, in a process of its own, under `strace`: what it asked of the disk, what it acknowledged,
//! what failed.
//!
//! The process is this test binary again, told by environment variables where its data lies and what to play.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use super::history::{ACKNOWLEDGED, BEGUN, Event, History, Place, REFUSED, Reader};
use super::medium::Medium;
use super::part::Part;
use super::site::{Said, Site};
use super::story::{RESTARTS, STEPS, Step, is_done, perform};
use super::trace::calls;
use crate::script::block_on;

const FOLDER: &str = "DELTACI_TEST_DISK_FOLDER";
const PART: &str = "DELTACI_TEST_DISK_PART";
/// Each line of the trace holds all bytes of its write.
const BYTES_MAX: &str = "200000";
/// Longer than anything that is said.
const SAID_MAX: &str = "400";
const TRACED: &str = "trace=open,openat,close,read,write,writev,pwrite64,pwritev,pwritev2,lseek,ftruncate,truncate,fallocate,\
                      fsync,fdatasync,sync_file_range,copy_file_range,sendfile,mkdirat,link,linkat,rename,\
                      renameat,renameat2,unlink,unlinkat,rmdir,symlink,dup,dup2,dup3";
/// Only where the folders of blobs are made: there are many, and later they are there.
const TRACED_AT_FIRST: &str = ",mkdir";
/// How often a step is tried again that did not succeed.
const TRIES_MAX: usize = 4;

/// Plays the story in another process, or nothing when this is the test run itself.
#[test]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    // One thread for everything that may block: the Nth call of a kind is then the same one every time.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    let part = Part::parse(&std::env::var(PART).expect("which part"));
    let site = runtime.block_on(play(Path::new(&folder), part));
    if site.is_some() {
        std::process::exit(0); // nothing is put away
    }
}

/// By a link: in the trace it stands among the writes, and no fault hits it.
fn say(folder: &Path, text: &str) {
    static SAID: AtomicUsize = AtomicUsize::new(0);
    let name = format!("../said-{}", SAID.fetch_add(1, Ordering::Relaxed));
    symlink(text, folder.join(name)).expect("the folder above is ours alone");
}

/// What is still open at the end.
async fn play(folder: &Path, part: Part) -> Option<Site> {
    if part.opening {
        say(folder, BEGUN);
    }
    let mut site = open(folder).await?;
    if !part.opening {
        say(folder, BEGUN);
    }
    for step in part.steps() {
        if RESTARTS.contains(step) {
            site.close().await;
            site = open(folder).await?;
        }
        let mut tries = 0;
        while let Err(refused) = until_done(&site, *step, tries).await {
            say(folder, &format!("{REFUSED}{step:?}: {}", refused.chars().take(200).collect::<String>()));
            tries += 1;
            if tries == TRIES_MAX {
                return Some(site);
            }
        }
        say(folder, &format!("{ACKNOWLEDGED}{step:?}"));
    }
    if part.closing {
        site.close().await;
        return None;
    }
    Some(site)
}

/// A step that a failed try had written after all is not done again: what is on record is durable. Bytes without a record
/// are brought again.
async fn until_done(site: &Site, step: Step, tries: usize) -> Said<()> {
    let is_on_record =
        !matches!(step, Step::StreamBegun | Step::FirstPart | Step::SecondPart | Step::Collected);
    if tries == 0 || !is_on_record || !is_done(site, step).await.unwrap_or(false) {
        perform(site, step).await?;
    }
    Ok(())
}

async fn open(folder: &Path) -> Option<Site> {
    for _ in 0..TRIES_MAX {
        match Site::open(folder).await {
            Ok(site) => return Some(site),
            Err(refused) => say(folder, &format!("{REFUSED}open: {refused}")),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    None
}

/// A story that was told, and the data it left.
pub struct Recording {
    pub before: Medium,
    pub history: History,
    /// Its calls since it began.
    pub places: Vec<Place>,
    /// How many calls `strace` made fail.
    pub injected: usize,
    ground: TempDir,
}

/// In memory where there is room for it: what is written here is never asked to survive anything.
pub fn ground() -> TempDir {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    tempfile::tempdir_in(parent).unwrap()
}

/// A folder to play on.
fn laid_out(before: &Medium) -> TempDir {
    let ground = ground();
    let data = ground.path().join("data");
    std::fs::create_dir(&data).expect("a new folder");
    before.live.write_to(&data);
    ground
}

impl Recording {
    /// The whole story, from an empty folder, without a fault.
    pub fn of_everything() -> Recording {
        Recording::of(&Medium::empty(), Part::WHOLE, None)
    }

    /// Of a part on what is there, with a fault that `strace` injects. Every call and byte of it.
    pub fn of(before: &Medium, part: Part, fault: Option<&str>) -> Recording {
        let traced = format!("{TRACED}{}", if part.first == 0 { TRACED_AT_FIRST } else { "" });
        let options = ["-s", BYTES_MAX, "-e", &traced, "-e", "raw=read"];
        Recording::traced(laid_out(before), before, part, fault, &options)
    }

    /// The same, but only what was said: for whoever looks at the folder itself.
    pub fn briefly(before: &Medium, part: Part, call: &str, fault: &str) -> Recording {
        let traced = format!("trace=symlink,{call}");
        let options = ["-s", SAID_MAX, "-e", &traced];
        Recording::traced(laid_out(before), &Medium::empty(), part, Some(fault), &options)
    }

    fn traced(
        ground: TempDir,
        before: &Medium,
        part: Part,
        fault: Option<&str>,
        options: &[&str],
    ) -> Recording {
        let (data, trace) = (ground.path().join("data"), ground.path().join("trace"));
        let mut strace = Command::new("strace");
        strace.args(["-f", "--seccomp-bpf", "-qq", "-xx", "-e", "signal=none"]).args(options);
        strace.args(fault.into_iter().flat_map(|fault| ["-e", fault])).arg("-o").arg(&trace);
        strace.arg("--").arg(std::env::current_exe().unwrap());
        strace.args(["disk::recording::child", "--exact", "--nocapture", "--test-threads=1"]);
        strace.env(FOLDER, &data).env(PART, part.text()).env("RUST_BACKTRACE", "0").stdin(Stdio::null());
        let told = strace.output().expect("strace is here: `cargo xtask parts install`");
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        let text = std::fs::read_to_string(&trace).unwrap();
        std::fs::remove_file(&trace).unwrap();
        let calls = calls(&text);
        let injected = calls.iter().filter(|call| call.injected).count();
        let (history, places) = Reader::read(&data, before.clone(), &calls);
        Recording { before: before.clone(), history, places, injected, ground }
    }

    pub fn data(&self) -> PathBuf {
        self.ground.path().join("data")
    }

    /// How many steps were acknowledged.
    pub fn acknowledged(&self) -> usize {
        self.history.iter().filter(|(_, event)| matches!(event, Event::Acknowledged)).count()
    }

    pub fn refused(&self) -> Vec<&str> {
        self.history
            .iter()
            .filter_map(|it| match &it.1 {
                Event::Refused(answer) => Some(answer.as_str()),
                Event::Changed(_) | Event::Synced { .. } | Event::SyncFailed(_) => None,
                Event::WriteFailed(_) | Event::Acknowledged | Event::Made { .. } => None,
            })
            .collect()
    }
}

#[test]
fn the_recording_of_a_story_says_what_the_disk_holds() {
    let recording = Recording::of_everything();
    assert_eq!(recording.acknowledged(), STEPS.len(), "{:?}", recording.refused());
    let mut medium = recording.before.clone();
    recording.history.iter().for_each(|event| super::history::replay(&mut medium, event));
    let folder = recording.data();
    std::fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .filter(|it| it.file_name().to_str().unwrap().ends_with("-shm"))
        .for_each(|it| std::fs::remove_file(it.path()).unwrap());
    assert_eq!(medium.live.print(), Medium::holding(&folder).live.print(), "the replay is the disk");
    block_on(async { super::story::is_complete(&Site::open(&folder).await.unwrap()).await.unwrap() });
}
