//! A disk without room: told as such, nothing half-visible, what was there stays, and it goes on when there is room.

use std::process::Command;

use store::{BlobError, Blobs, StageError};
use tempfile::TempDir;

use crate::blobs::places::{MIB, files_below, key_of, read, sample, staging, whole};
use crate::stores::block_on;

/// A small disk of its own; only a privileged user may have one.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(folder.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(SmallDisk(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_refuses_and_keeps_what_it_has() {
    let Some(disk) = SmallDisk::mount("8m") else {
        eprintln!("skipped: only a privileged user can mount a small disk");
        return;
    };
    block_on(async {
        let blobs = Blobs::open(disk.0.path().to_str().unwrap()).await.unwrap();
        let kept = sample(1, 3 * MIB);
        let kept_key = key_of(&kept, 1);
        blobs.put(&kept_key, kept.clone()).await.unwrap();

        let large = sample(2, 7 * MIB);
        let (at, key, length) = (staging(2), key_of(&large, 2), large.len() as u64);
        // A megabyte that was acknowledged, and the rest that does not fit.
        blobs.stage(&at, &key, 0, length, whole(&large.slice(..MIB))).await.unwrap();
        let full = StageError::Blob(BlobError::Full);
        let rest = large.slice(MIB..);
        assert_eq!(blobs.stage(&at, &key, MIB as u64, length, whole(&rest)).await, Err(full.clone()));
        assert_eq!(blobs.staged(&at).await, Ok(MIB as u64), "what it took is given back");
        assert_eq!(blobs.place(&at, &key).await, Err(BlobError::NotFound));
        assert_eq!(blobs.put(&key, large.clone()).await, Err(BlobError::Full));
        assert_eq!(blobs.write_part(&at, 1, length, whole(&large)).await, Err(full));
        assert_eq!(blobs.length(&key).await, Ok(None), "nothing half-visible");
        assert_eq!(
            files_below(disk.0.path()).len(),
            3,
            "the kept one, the acknowledged megabyte, and that it was"
        );
        assert_eq!(read(&blobs, &kept_key, 0..kept.len() as u64).await.unwrap(), kept);

        blobs.delete(&kept_key).await.unwrap();
        blobs.stage(&at, &key, MIB as u64, length, whole(&rest)).await.unwrap();
        blobs.place(&at, &key).await.unwrap();
        assert_eq!(read(&blobs, &key, 0..length).await.unwrap(), large, "with room it goes on");
    });
}
