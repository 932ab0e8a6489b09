//! A small disk of its own, and what fills it.

use std::path::PathBuf;
use std::process::Command;

use store::{Store, StoreError};
use tempfile::TempDir;

use crate::commands::{raw, submit};
use crate::desk::{Contents, Desk};

/// Only a privileged user may have one.
pub struct SmallDisk(TempDir);

impl SmallDisk {
    /// `options` as `mount` has them.
    pub fn mount(options: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(SmallDisk(folder))
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A connection that is still closing keeps it busy; it then goes when that one does.
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

/// Submits until the store refuses; returns the last number that was acknowledged.
pub async fn fill_up<S: Store>(desk: &Desk<S>, from: u128) -> (u128, StoreError) {
    const MORE_THAN_FITS: u128 = 10_000;
    for number in from..from + MORE_THAN_FITS {
        let mut large = submit(number);
        large.payload = raw(&format!("\"{}\"", noise(number, 10_000)));
        if let Err(error) = desk.perform([large]).await {
            return (number - 1, error);
        }
    }
    panic!("the disk never filled up");
}

/// A text that does not get much shorter by packing.
fn noise(seed: u128, length: usize) -> String {
    let mut state = seed as u64 | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'A' + (state % 57) as u8)
    };
    (0..length)
        .map(|_| next())
        .map(|letter| if letter.is_ascii_alphabetic() { letter } else { '0' })
        .collect()
}

pub fn is_unavailable(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_))
}

/// Whatever is tried: nothing is half done, what was acknowledged is there, and reading works. What there is then.
pub async fn stays_full<S: Store>(desk: &Desk<S>, last: u128) -> Contents {
    for number in 1..=20 {
        let again = desk.perform([submit(1_000_000 + number)]).await;
        assert!(again.is_ok() || is_unavailable(&again.unwrap_err()), "it stays at that");
    }
    let contents = desk.contents().await;
    assert!(contents.jobs.len() as u128 >= last && contents.problems().is_empty());
    contents
}

/// There is room again.
pub async fn goes_on<S: Store>(desk: &Desk<S>) {
    let (further, _) = fill_up(desk, 3_000_000).await;
    assert!(further > 3_000_000 + 10, "with room it goes on");
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
    assert_eq!(desk.store.integrity().await, Ok(vec![]));
}
