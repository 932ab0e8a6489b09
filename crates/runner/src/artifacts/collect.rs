//! The artifacts of one job, from patterns to references.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::stream;
use wire::Digest;
use wire::runner::{ArtifactRef, ArtifactSpec};

use super::beneath::Root;
use super::globs::Globs;
use super::notes::{Notes, shown};
use super::walk::{Bounds, TooMuch, walk};
use crate::session::Collected;
use crate::transfer::{Journal, Source, SourceError, UploadError, Uploads};

/// At a time; each holds a few chunks in memory.
const UPLOADS_AT_A_TIME: usize = 4;

pub struct Collector {
    pub workspace: PathBuf,
    pub specs: Vec<ArtifactSpec>,
    /// Where they go; unknown when the server did not say whose job it is.
    pub uploads: Option<Uploads>,
    pub bounds: Bounds,
}

/// What was found, before a byte is sent.
pub struct Haul {
    root: Arc<Root>,
    globs: Globs,
    files: Vec<Candidate>,
}

#[derive(Debug, Clone)]
struct Candidate {
    path: String,
    globs: Vec<usize>,
    length: u64,
}

/// Tells work on other threads to stop when whoever waits for it is gone.
struct Alive(Arc<AtomicBool>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

enum Trouble {
    Stale(wire::runner::StaleReason),
    Failed(String),
}

impl Collector {
    /// Looks through the workspace. Lines for the job's log come with either answer.
    pub async fn find(&self) -> (Result<Haul, Collected>, Vec<String>) {
        let alive = Alive(Arc::new(AtomicBool::new(true)));
        let (workspace, specs, bounds) = (self.workspace.clone(), self.specs.clone(), self.bounds);
        let flag = alive.0.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let mut notes = Notes::default();
            let haul = find(&workspace, &specs, bounds, &mut notes, &flag);
            (haul, notes.lines())
        });
        match looked.await {
            Ok((haul, lines)) => (haul.map_err(too_much), lines),
            Err(error) => {
                (Err(failed(format!("looking for artifacts failed: {error}"), Vec::new())), Vec::new())
            }
        }
    }

    /// Brings all of it to the server. The line says what was done.
    pub async fn bring(&self, haul: Haul) -> (Collected, Option<String>) {
        if haul.files.is_empty() {
            return (Collected::Done { artifacts: Vec::new(), caches: Vec::new() }, None);
        }
        let Some(uploads) = &self.uploads else {
            let problem = "the server did not say whose job it is; is it older than this runner?".into();
            return (failed(problem, Vec::new()), None);
        };
        let alive = Alive(Arc::new(AtomicBool::new(true)));
        let (count, bytes) = (haul.files.len(), haul.files.iter().map(|file| file.length).sum::<u64>());
        let there = Mutex::new(HashSet::new());
        let (root, globs) = (haul.root, haul.globs);
        let sending = haul.files.into_iter().map(|file| {
            let (flag, root, there) = (alive.0.clone(), root.clone(), &there);
            async move {
                let sent = send(uploads, root, &file, there, flag).await;
                (file, sent)
            }
        });
        let mut sent = stream::iter(sending).buffer_unordered(UPLOADS_AT_A_TIME);
        let mut artifacts = Vec::new();
        while let Some((file, result)) = sent.next().await {
            match result {
                Ok(digest) => artifacts.extend(references(&globs, &file, digest)),
                Err(Trouble::Stale(reason)) => return (Collected::Stale(reason), None),
                Err(Trouble::Failed(problem)) => {
                    return (failed(format!("`{}`: {problem}", shown(&file.path)), artifacts), None);
                }
            }
        }
        drop(sent);
        artifacts.sort_by(|one, other| (&one.path, &one.r#type).cmp(&(&other.path, &other.r#type)));
        let plural = if count == 1 { "" } else { "s" };
        (
            Collected::Done { artifacts, caches: Vec::new() },
            Some(format!("artifacts: {count} file{plural}, {bytes} bytes uploaded")),
        )
    }
}

fn find(
    workspace: &Path,
    specs: &[ArtifactSpec],
    bounds: Bounds,
    notes: &mut Notes,
    alive: &AtomicBool,
) -> Result<Haul, TooMuch> {
    let (globs, problems) = Globs::new(specs);
    problems.into_iter().for_each(|problem| notes.add(problem));
    let root = Root::open(workspace)?;
    let go_on = || alive.load(Ordering::Relaxed);
    let files = walk(&root, &globs, bounds.files, notes, go_on)?;
    let files = measured(&root, files.into_iter(), bounds.total_bytes, notes)?;
    for number in 0..globs.len() {
        if !files.iter().any(|file| file.globs.contains(&number)) {
            notes.add(format!("artifacts `{}`: no file matches", shown(globs.text(number))));
        }
    }
    Ok(Haul { root: Arc::new(root), globs, files })
}

/// All of them are known before the first is sent. What is no longer a file is left out.
fn measured(
    root: &Root,
    found: impl Iterator<Item = (String, Vec<usize>)>,
    total_bytes_max: u64,
    notes: &mut Notes,
) -> Result<Vec<Candidate>, TooMuch> {
    let mut total: u64 = 0;
    let mut files = Vec::new();
    for (path, globs) in found {
        let length = match root.file(Path::new(&path)).and_then(|file| file.metadata()) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(TooMuch::Unreadable(io::Error::other(root.not_ours(&path))));
            }
            Err(error) => {
                notes.add(format!("artifacts: `{}` is left out: {error}", shown(&path)));
                continue;
            }
        };
        total = total.saturating_add(length);
        if total > total_bytes_max {
            return Err(TooMuch::Bytes(total_bytes_max));
        }
        files.push(Candidate { path, globs, length });
    }
    Ok(files)
}

async fn send(
    uploads: &Uploads,
    root: Arc<Root>,
    file: &Candidate,
    there: &Mutex<HashSet<Digest>>,
    alive: Arc<AtomicBool>,
) -> Result<Digest, Trouble> {
    let Candidate { path, length, .. } = file.clone();
    let log_path = path.clone();
    let read = tokio::task::spawn_blocking(move || {
        let file = root.file(Path::new(&path))?;
        if file.metadata()?.len() != length {
            return Err(SourceError::Changed);
        }
        Source::read(file, |_| alive.load(Ordering::Relaxed))
    });
    let source = match read.await {
        Ok(Ok(source)) => source,
        Ok(Err(error)) => return Err(Trouble::Failed(error.to_string())),
        Err(error) => return Err(Trouble::Failed(format!("reading it failed: {error}"))),
    };
    let digest = source.digest();
    if there.lock().unwrap_or_else(PoisonError::into_inner).contains(&digest) {
        return Ok(digest); // the same bytes under another name
    }
    match uploads.put(&source, &Spoken { path: &log_path }).await {
        Ok(_) => {
            there.lock().unwrap_or_else(PoisonError::into_inner).insert(digest);
            Ok(digest)
        }
        Err(UploadError::Stale(reason)) => Err(Trouble::Stale(reason)),
        Err(error) => Err(Trouble::Failed(error.to_string())),
    }
}

/// One for each type under which the file was asked for.
fn references(globs: &Globs, file: &Candidate, digest: Digest) -> Vec<ArtifactRef> {
    let mut kinds: Vec<&str> = file.globs.iter().map(|number| globs.kind(*number)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let reference = |kind: &str| ArtifactRef {
        r#type: kind.into(),
        uri: format!("blob:{digest}"),
        path: Some(file.path.clone()),
    };
    kinds.into_iter().map(reference).collect()
}

fn failed(problem: String, artifacts: Vec<ArtifactRef>) -> Collected {
    Collected::Failed { problem, artifacts }
}

/// What the job did is told from what happened to it.
fn too_much(trouble: TooMuch) -> Collected {
    match &trouble {
        TooMuch::Files(_) | TooMuch::Bytes(_) | TooMuch::Entries => {
            Collected::TooMuch { problem: trouble.to_string() }
        }
        TooMuch::Unreadable(_) | TooMuch::Stopped => failed(trouble.to_string(), Vec::new()),
    }
}

/// The operator hears of each failure; the job only of the last.
struct Spoken<'a> {
    path: &'a str,
}

impl Journal for Spoken<'_> {
    fn goes_on(&self, problem: &str, _answered: bool) -> bool {
        tracing::warn!(path = self.path, problem, "an artifact did not arrive; trying again");
        true
    }
}
