//! One file from the server: into `FILE.part`, from where an earlier try left it, verified, and only then under its name.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use runner::client::{Bytes, Stream};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use wire::Digest;

use crate::api::{ApiError, Server};
use crate::output::{Exit, Problem};
use crate::view::bars::{Bar, Bars};

/// Tries in a row that bring not a byte.
const TRIES_MAX: u32 = 30;
const PAUSE: Duration = Duration::from_secs(1);
/// Without a byte.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// On their way from the connection to the disk.
const CHUNKS_WAITING_MAX: usize = 16;
const READ_BYTES: usize = 256 * 1024;

#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub digest: Digest,
    /// If it is known before.
    pub length: Option<u64>,
}

pub struct Got {
    pub length: u64,
    pub resumed_from: u64,
    pub was_there: bool,
}

/// The part that is there, and the hash of it.
struct Part {
    file: File,
    hash: Sha256,
    length: u64,
}

pub async fn download(server: &Server, wanted: &Wanted, file: &Path, name: &str, bars: &Bars) -> Result<Got> {
    let (named, digest) = (file.to_owned(), wanted.digest);
    if let Some(length) = blocking(move || same(&named, &digest)).await? {
        return Ok(Got { length, resumed_from: 0, was_there: true });
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let path = part_of(file);
    let opened = path.clone();
    let part = blocking(move || Part::open(&opened)).await;
    let mut part = part.with_context(|| format!("cannot write {}", path.display()))?;
    let resumed_from = part.length;
    let bar = bars.begin(name, wanted.length.unwrap_or(0));
    let mut tries = 0;
    // Bounded by the tries.
    loop {
        let before = part.length;
        bar.resume_at(before);
        let (back, ended) = go_on(server, wanted, part, &bar).await?;
        part = back;
        match ended {
            Ended::Whole => break,
            Ended::Broken(error) => {
                tries = if part.length > before { 1 } else { tries + 1 };
                if tries >= TRIES_MAX || !error.passing || (tries == 1 && part.length == 0) {
                    return Err(error.into());
                }
                bars.tell(&format!("trying again: {error}"));
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(bar);
    settle(part, wanted, &path, file)?;
    let length = fs::metadata(file)?.len();
    Ok(Got { length, resumed_from: resumed_from.min(length), was_there: false })
}

enum Ended {
    Whole,
    Broken(ApiError),
}

/// Asks for what is missing and takes what comes.
async fn go_on(server: &Server, wanted: &Wanted, mut part: Part, bar: &Bar) -> Result<(Part, Ended)> {
    if wanted.length == Some(part.length) {
        return Ok((part, Ended::Whole));
    }
    if wanted.length.is_some_and(|length| length < part.length) {
        part.restart()?; // of something else
    }
    let stream = match server.open_blob(&wanted.digest, part.length).await {
        Ok(stream) => stream,
        Err(lost) => return Ok((part, Ended::Broken(ApiError::unreachable(&server.url, &lost)))),
    };
    match (stream.status, stream.begins_at) {
        (206, Some(offset)) if offset == part.length => {}
        (200 | 206, _) if part.length == 0 => {}
        (200, _) => part.restart()?,
        // Nothing is missing, or too much is there: the digest will tell.
        (416, _) if wanted.length.is_none() => return Ok((part, Ended::Whole)),
        _ => {
            let reply = match stream.reply().await {
                Ok(reply) => reply,
                Err(lost) => return Ok((part, Ended::Broken(ApiError::unreachable(&server.url, &lost)))),
            };
            return Ok((part, Ended::Broken(ApiError::refused(&server.url, &reply))));
        }
    }
    take(server, wanted, stream, part, bar).await
}

/// Hashing and writing are a thread of their own, so that they and the connection wait for each other only when they must.
async fn take(
    server: &Server,
    wanted: &Wanted,
    mut stream: Stream,
    mut part: Part,
    bar: &Bar,
) -> Result<(Part, Ended)> {
    let (chunks, mut taken) = mpsc::channel::<Bytes>(CHUNKS_WAITING_MAX);
    let mut position = part.length;
    let writing = tokio::task::spawn_blocking(move || -> (Part, std::io::Result<()>) {
        while let Some(chunk) = taken.blocking_recv() {
            if let Err(error) = part.append(&chunk) {
                return (part, Err(error));
            }
        }
        (part, Ok(()))
    });
    let ended = loop {
        match tokio::time::timeout(SILENCE_MAX, stream.next()).await {
            Ok(Some(Ok(chunk))) => {
                position += chunk.len() as u64;
                bar.at(position);
                if wanted.length.is_some_and(|length| position > length) || chunks.send(chunk).await.is_err()
                {
                    break Ended::Broken(server.broken("more bytes than there are"));
                }
            }
            Ok(Some(Err(lost))) => break Ended::Broken(ApiError::unreachable(&server.url, &lost)),
            Ok(None) if wanted.length.is_none_or(|length| position == length) => break Ended::Whole,
            Ok(None) => break Ended::Broken(server.broken("an answer that ends early")),
            Err(_) => break Ended::Broken(server.broken("not a byte for a minute")),
        }
    };
    drop(chunks);
    let (part, written) = writing.await?;
    written.context("cannot write what comes")?;
    Ok((part, ended))
}

fn settle(part: Part, wanted: &Wanted, path: &Path, file: &Path) -> Result<()> {
    let found = Digest::from_bytes(part.hash.finalize().into());
    if found != wanted.digest {
        let _ = fs::remove_file(path); // it would never become right
        let message = format!("what came is {found}, not {}: it was thrown away; try again", wanted.digest);
        return Err(Problem { exit: Exit::Infrastructure, message }.into());
    }
    fs::rename(path, file).with_context(|| format!("cannot name {}", file.display()))
}

impl Part {
    fn open(path: &Path) -> std::io::Result<Part> {
        let mut file = File::options().read(true).append(true).create(true).open(path)?;
        let (hash, length) = hashed(&mut file)?;
        Ok(Part { file, hash, length })
    }

    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn restart(&mut self) -> std::io::Result<()> {
        self.file.set_len(0)?;
        (self.hash, self.length) = (Sha256::new(), 0);
        Ok(())
    }
}

/// The length of a file that is there and right.
fn same(file: &Path, digest: &Digest) -> std::io::Result<Option<u64>> {
    if !file.is_file() {
        return Ok(None);
    }
    let (hash, length) = hashed(&mut File::open(file)?)?;
    Ok((Digest::from_bytes(hash.finalize().into()) == *digest).then_some(length))
}

fn hashed(file: &mut File) -> std::io::Result<(Sha256, u64)> {
    let (mut hash, mut length) = (Sha256::new(), 0);
    let mut buffer = vec![0; READ_BYTES];
    while let read @ 1.. = file.read(&mut buffer)? {
        hash.update(&buffer[..read]);
        length += read as u64;
    }
    Ok((hash, length))
}

fn part_of(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    file.with_file_name(name)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T> {
    Ok(tokio::task::spawn_blocking(work).await??)
}
