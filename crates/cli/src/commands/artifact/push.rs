//! `deltaci artifact push`: files to the server; what was broken off goes on when the command is repeated.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, anyhow};
use futures_util::{StreamExt, TryStreamExt, stream};
use runner::client::Taken;
use runner::transfer::{Journal, Source, SourceError};
use serde::Serialize;
use wire::api::{CreateEntry, CreateVersion, VersionView};
use wire::{Digest, UploadId};

use super::change::say;
use crate::api::{Connection, Server};
use crate::cache::Remembered;
use crate::database::block_on;
use crate::output::{self, Exit, Problem, usage};
use crate::view::bars::{Bar, Bars, LOOK_EVERY};

const FILES_MAX: usize = 10_000;
const FILES_AT_A_TIME: usize = 4;

#[derive(clap::Args)]
pub struct Args {
    /// Files; of a folder, all that is in it
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Make a version of this package of them
    #[arg(long, value_name = "NAME", requires = "version")]
    package: Option<String>,
    /// The version's name
    #[arg(long, value_name = "VERSION", requires = "package")]
    version: Option<String>,
    /// Publish the version: it never changes again
    #[arg(long, requires = "package")]
    publish: bool,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Clone)]
struct Item {
    file: PathBuf,
    /// In the version.
    path: String,
}

#[derive(Serialize)]
struct Pushed {
    path: String,
    digest: Digest,
    length: u64,
    deduplicated: bool,
}

#[derive(Serialize)]
struct Answer {
    files: Vec<Pushed>,
    version: Option<VersionView>,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let items = items(&args.files)?;
    let server = args.connection.open()?;
    block_on(async {
        let bars = Bars::new(items.iter().map(|item| item.path.as_str()), json);
        let connected = AtomicBool::new(false);
        let pushing = items.into_iter().map(|item| push(&server, item, &bars, &connected));
        let pushed = stream::iter(pushing).buffer_unordered(FILES_AT_A_TIME);
        let mut files: Vec<Pushed> = pushed.try_collect().await?;
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let version = match (&args.package, &args.version) {
            (Some(package), Some(version)) => {
                Some(make_version(&server, package, version, &files, args.publish).await?)
            }
            _ => None,
        };
        if json {
            output::json(&Answer { files, version })?;
            return Ok(Exit::Success.into());
        }
        match &version {
            Some(version) => {
                say(version);
                output::line(version.id)?;
            }
            None => {
                for file in &files {
                    output::line(format!("{}  {}", file.digest, crate::view::screen::one_line(&file.path)))?;
                }
                bars.tell("nothing refers to them yet: name a --package and a --version to keep them");
            }
        }
        Ok(Exit::Success.into())
    })
}

async fn make_version(
    server: &Server,
    package: &str,
    version: &str,
    files: &[Pushed],
    publish: bool,
) -> Result<VersionView> {
    let entry = |file: &Pushed| CreateEntry { path: file.path.clone(), digest: file.digest };
    let wanted = CreateVersion { version: version.into(), entries: files.iter().map(entry).collect() };
    let made = server.create_version(package, &wanted).await?;
    Ok(if publish { server.publish(package, version).await? } else { made })
}

async fn push(server: &Server, item: Item, bars: &Bars, connected: &AtomicBool) -> Result<Pushed> {
    let file = item.file.clone();
    let shown = file.display().to_string();
    // Full once it is hashed; then it shows what is sent.
    let bar = bars.begin(&item.path, file.metadata().map_or(0, |metadata| metadata.len()));
    let hashed = bar.mover();
    let read = tokio::task::spawn_blocking(move || {
        let file = File::open(&file)?;
        Source::read(file, |bytes| {
            hashed(bytes);
            true
        })
    });
    let source = read.await?.map_err(|error| unreadable(&shown, error))?;
    let note = Note {
        remembered: Remembered::upload(&server.url, &server.tenant, &source.digest()),
        sending: Mutex::new((0, Taken::default())),
        bar,
        bars,
        connected,
    };
    let uploaded = {
        let mut uploading = std::pin::pin!(server.upload(&source, &note));
        loop {
            tokio::select! {
                uploaded = &mut uploading => break uploaded.with_context(|| shown.clone())?,
                () = tokio::time::sleep(LOOK_EVERY) => note.bar.at(note.position()),
            }
        }
    };
    connected.store(true, Ordering::Relaxed);
    let resumed = note.began_at();
    drop(note.bar);
    let words = match (uploaded.deduplicated, resumed) {
        (true, _) => "was there already".to_owned(),
        (false, 0) => String::new(),
        (false, from) => format!("went on after {}", crate::view::time::size(from)),
    };
    bars.done(&item.path, source.length(), &words);
    let Item { path, .. } = item;
    let (digest, length, deduplicated) = (source.digest(), source.length(), uploaded.deduplicated);
    Ok(Pushed { path, digest, length, deduplicated })
}

fn unreadable(file: &str, error: SourceError) -> anyhow::Error {
    match error {
        SourceError::Unreadable(error) => usage(format!("cannot read {file}: {error}")),
        SourceError::Changed | SourceError::Stopped => {
            Problem { exit: Exit::Failed, message: format!("{file}: {error}") }.into()
        }
    }
}

/// What is to be sent, each under a path of its own: a file under its name, what is in a folder under the folder's.
fn items(named: &[PathBuf]) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for file in named {
        let name =
            file.canonicalize().map_err(|error| usage(format!("cannot read {}: {error}", file.display())))?;
        let name = name.file_name().map(|name| name.to_os_string());
        let name = name.ok_or_else(|| usage(format!("{} has no name", file.display())))?;
        add(file, Path::new(&name), &mut items)?;
    }
    let mut paths: Vec<&str> = items.iter().map(|item| item.path.as_str()).collect();
    paths.sort_unstable();
    if let Some(twice) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(usage(format!("two files would be `{}`: push them one by one", twice[0])));
    }
    Ok(items)
}

/// Links are followed when they are named, and not when they are found.
fn add(file: &Path, path: &Path, items: &mut Vec<Item>) -> Result<()> {
    let trouble = |error: std::io::Error| usage(format!("cannot read {}: {error}", file.display()));
    if file.metadata().map_err(trouble)?.is_dir() {
        let mut entries: Vec<_> =
            std::fs::read_dir(file).map_err(trouble)?.collect::<Result<_, _>>().map_err(trouble)?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            if !entry.file_type().map_err(trouble)?.is_symlink() {
                add(&entry.path(), &path.join(entry.file_name()), items)?;
            }
        }
        return Ok(());
    }
    if !file.metadata().map_err(trouble)?.is_file() {
        return Err(usage(format!("{} is no regular file", file.display())));
    }
    let path = path.to_str().ok_or_else(|| anyhow!("{} is no UTF-8", file.display()))?.to_owned();
    items.push(Item { file: file.into(), path });
    if items.len() > FILES_MAX {
        return Err(usage(format!("more than {FILES_MAX} files: pack them into an archive")));
    }
    Ok(())
}

struct Note<'a> {
    remembered: Remembered,
    /// Where the stream began, and how far it is from there.
    sending: Mutex<(u64, Taken)>,
    bar: Bar,
    bars: &'a Bars,
    /// Some file got through: the server is there, so it is worth waiting for.
    connected: &'a AtomicBool,
}

impl Note<'_> {
    fn position(&self) -> u64 {
        let sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        sending.0 + sending.1.bytes()
    }

    fn began_at(&self) -> u64 {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Journal for Note<'_> {
    fn recall(&self) -> Option<UploadId> {
        self.remembered.get()
    }

    fn note(&self, session: UploadId) {
        self.connected.store(true, Ordering::Relaxed);
        self.remembered.set(session);
    }

    fn forget(&self) {
        self.remembered.clear();
    }

    fn sending(&self, offset: u64, taken: Taken) {
        self.bar.resume_at(offset);
        *self.sending.lock().unwrap_or_else(PoisonError::into_inner) = (offset, taken);
    }

    fn goes_on(&self, problem: &str, answered: bool) -> bool {
        let goes_on = answered || self.connected.load(Ordering::Relaxed);
        if goes_on {
            let cause = problem.rsplit(": ").next().unwrap_or(problem);
            self.bars.tell(&format!("trying again: {cause}"));
        }
        goes_on
    }
}
