//! What a disk must still be worth: it opens, it is sound, everything acknowledged is there, and the story goes on to its
//! end with nothing twice and nothing left over.

use std::path::Path;

use store::Store;
use store::blobs::BlobKey;

use super::medium::Disk;
use super::recording::ground;
use super::site::{Said, Site, words};
use super::story::{STEPS, Step, is_complete, is_done, perform};
use crate::script::block_on;

/// Whether the story is also told to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    Look,
    ToTheEnd,
}

/// Of a disk that the model holds.
pub fn of_disk(disk: &Disk, acknowledged: usize, depth: Depth) -> Said<()> {
    let ground = ground();
    disk.write_to(ground.path());
    of_folder(ground.path(), acknowledged, depth)
}

/// Of data as it lies there. The first so many steps were acknowledged.
pub fn of_folder(folder: &Path, acknowledged: usize, depth: Depth) -> Said<()> {
    block_on(async {
        let site = Site::open(folder).await.map_err(|error| format!("it does not open: {error}"))?;
        site.is_sound().await?;
        for step in &STEPS[..acknowledged] {
            if !is_done(&site, *step).await.map_err(|error| format!("{step:?}: {error}"))? {
                return Err(format!("{step:?} was acknowledged and is not there"));
            }
        }
        if depth == Depth::Look {
            return Ok(());
        }
        go_on(&site).await?;
        is_complete(&site).await?;
        site.is_sound().await?;
        nothing_is_left_over(&site).await
    })
}

/// Without the large job, if it was not there: it only makes SQLite put its log away, and takes its time.
async fn go_on(site: &Site) -> Said<()> {
    for step in STEPS.into_iter().filter(|step| *step != Step::LargeSubmitted) {
        if !is_done(site, step).await.map_err(|error| format!("going on, {step:?}: {error}"))? {
            perform(site, step).await.map_err(|error| format!("it does not go on with {step:?}: {error}"))?;
        }
    }
    Ok(())
}

/// Every file is one that a record names, after another collection at the latest: it does what one before it could not.
async fn nothing_is_left_over(site: &Site) -> Said<()> {
    site.tidy_up().await?;
    if names_are_files(site).await.is_ok() {
        return Ok(());
    }
    site.collect().await?;
    names_are_files(site).await
}

async fn names_are_files(site: &Site) -> Said<()> {
    let blobs =
        site.store().blob_files_after(None, 100).await.map_err(words)?.into_iter().map(|file| file.blob);
    let mut named: Vec<String> = blobs
        .filter(|it| it.is_here() && !it.inline)
        .map(|it| BlobKey::new(&it.digest, it.id).as_str().to_owned())
        .collect();
    named.sort();
    let on_the_way = site.keys_on_the_way().await?;
    let mut found = site.artifacts.blobs.keys(None, 100).await.map_err(words)?;
    found.retain(|key| !on_the_way.contains(key));
    if found == named { Ok(()) } else { Err(format!("files {found:?} for the records {named:?}")) }
}
