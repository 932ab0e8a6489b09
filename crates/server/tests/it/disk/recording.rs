//! The story in a process of its own, under `strace`: what it asked of the disk, what it acknowledged, what failed.
//!
//! The process is this test binary again, told by an environment variable where its data lies.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::history::{ACKNOWLEDGED, Event, History, REFUSED, Reader};
use super::medium::Medium;
use super::site::{Said, Site};
use super::story::{RESTARTS, STEPS, is_done, perform};
use super::trace::calls;
use crate::script::block_on;

const FOLDER: &str = "DELTACI_TEST_DISK_FOLDER";
/// Each line of the trace holds all bytes of its write.
const BYTES_MAX: &str = "200000";
const TRACED: &str = "trace=open,openat,close,read,write,writev,pwrite64,pwritev,pwritev2,lseek,ftruncate,truncate,fallocate,\
                      fsync,fdatasync,sync_file_range,copy_file_range,sendfile,mkdir,mkdirat,link,linkat,rename,\
                      renameat,renameat2,unlink,unlinkat,rmdir,symlink,dup,dup2,dup3";
/// How often a step is tried again that did not succeed.
const TRIES_MAX: usize = 4;

/// Plays the story in another process, or nothing when this is the test run itself.
#[test]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    // One thread for everything that may block: the Nth call of a kind is then the same one every time.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(play(Path::new(&folder)));
}

fn say(folder: &Path, text: &str) {
    // Nothing has to come of it: the call itself is what is read.
    let _ = symlink(text, folder.join("../said"));
    let _ = std::fs::remove_file(folder.join("../said"));
}

async fn play(folder: &Path) {
    let Some(mut site) = open(folder).await else { return };
    for step in STEPS {
        if RESTARTS.contains(&step) {
            site.close().await;
            let Some(opened) = open(folder).await else { return };
            site = opened;
        }
        let mut tries = 0;
        while let Err(refused) = until_done(&site, step).await {
            say(folder, &format!("{REFUSED}{step:?}: {}", refused.chars().take(200).collect::<String>()));
            tries += 1;
            if tries == TRIES_MAX {
                return;
            }
        }
        say(folder, &format!("{ACKNOWLEDGED}{step:?}"));
    }
    site.close().await;
}

/// A step that a failed try had written after all is not done again.
async fn until_done(site: &Site, step: super::story::Step) -> Said<()> {
    if !is_done(site, step).await.unwrap_or(false) {
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
    ground: TempDir,
}

/// In memory where there is room for it: what is written here is never asked to survive anything.
pub fn ground() -> TempDir {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    tempfile::tempdir_in(parent).unwrap()
}

impl Recording {
    /// The whole story, from an empty folder, without a fault.
    pub fn of_everything() -> Recording {
        let ground = ground();
        std::fs::create_dir(ground.path().join("data")).unwrap();
        Recording::on(ground, &[])
    }

    /// On what is there, with faults that `strace` injects.
    pub fn on(ground: TempDir, injected: &[String]) -> Recording {
        let (data, trace) = (ground.path().join("data"), ground.path().join("trace"));
        let before = Medium::holding(&data);
        let mut strace = Command::new("strace");
        strace.args([
            "-f",
            "-qq",
            "-xx",
            "-s",
            BYTES_MAX,
            "-e",
            "signal=none",
            "-e",
            TRACED,
            "-e",
            "raw=read",
        ]);
        strace.args(injected).arg("-o").arg(&trace).arg("--").arg(std::env::current_exe().unwrap());
        strace.args(["disk::recording::child", "--exact", "--nocapture", "--test-threads=1"]);
        strace.env(FOLDER, &data).env("RUST_BACKTRACE", "0").stdin(Stdio::null());
        let told = strace.output().expect("strace is here: `cargo xtask parts install`");
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        let text = std::fs::read_to_string(&trace).unwrap();
        std::fs::remove_file(&trace).unwrap();
        let history = Reader::read(&data, before.clone(), &calls(&text));
        Recording { before, history, ground }
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
                Event::Acknowledged | Event::Made { .. } => None,
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
