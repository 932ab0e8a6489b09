//! Brings the archives of a job that succeeded to the server, where its success will save them.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use wire::runner::{CacheRef, StaleReason};

use super::words::size;
use crate::artifacts::shown;
use crate::transfer::{Journal, Source, UploadError, Uploads};

/// In a row: a cache is not worth more.
const TRIES_MAX: u32 = 5;

/// An archive that is there if the keeper was told to make it, and could.
#[derive(Debug, Clone)]
pub struct Packed {
    pub name: String,
    pub key: String,
    pub archive: PathBuf,
}

/// What became of them, with lines for the job's log.
#[derive(Debug, Default)]
pub struct Brought {
    pub caches: Vec<CacheRef>,
    pub lines: Vec<String>,
    /// The lease is: nothing more may be said.
    pub stale: Option<StaleReason>,
}

pub async fn bring(packed: Vec<Packed>, uploads: Option<&Uploads>) -> Brought {
    let mut brought = Brought::default();
    for one in packed.into_iter().filter(|one| one.archive.exists()) {
        let name = shown(&one.name);
        match send(&one, uploads).await {
            Ok((reference, bytes)) => {
                brought.lines.push(format!("cache {name}: saved {} under {}", size(bytes), one.key));
                brought.caches.push(reference);
            }
            Err(Trouble::Stale(reason)) => {
                brought.stale = Some(reason);
                return brought;
            }
            Err(Trouble::Failed(problem)) => {
                brought.lines.push(format!("cache {name}: not saved: {problem}"))
            }
        }
    }
    brought
}

enum Trouble {
    Stale(StaleReason),
    Failed(String),
}

async fn send(packed: &Packed, uploads: Option<&Uploads>) -> Result<(CacheRef, u64), Trouble> {
    let no_tenant = || Trouble::Failed("the server did not say whose job it is".into());
    let uploads = uploads.ok_or_else(no_tenant)?;
    let archive = packed.archive.clone();
    let read = tokio::task::spawn_blocking(move || Source::read(File::open(archive)?, |_| true));
    let source = match read.await {
        Ok(Ok(source)) => source,
        Ok(Err(error)) => return Err(Trouble::Failed(error.to_string())),
        Err(error) => return Err(Trouble::Failed(format!("reading it failed: {error}"))),
    };
    match uploads.put(&source, &Patience::default()).await {
        Ok(_) => {
            let uri = format!("blob:{}", source.digest());
            Ok((CacheRef { key: packed.key.clone(), uri }, source.length()))
        }
        Err(UploadError::Stale(reason)) => Err(Trouble::Stale(reason)),
        Err(error) => Err(Trouble::Failed(error.to_string())),
    }
}

#[derive(Default)]
struct Patience {
    failures: AtomicU32,
}

impl Journal for Patience {
    fn goes_on(&self, problem: &str, _answered: bool) -> bool {
        tracing::warn!(problem, "a cache did not arrive");
        self.failures.fetch_add(1, Ordering::Relaxed) + 1 < TRIES_MAX
    }
}
