//! Looks for a job's caches on the server and fetches what is found, before the keeper begins. Whatever goes wrong is said
//! in the job's log, and the job goes on without.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc::{self, Sender};
use wire::api::{FoundCache, Problem};
use wire::runner::CacheSpec;
use wire::{Digest, decode};

use super::words::{ago, size};
use super::{CACHES_MAX, KEY_BYTES_MAX, Packed};
use crate::artifacts::shown;
use crate::client::{Bytes, Client, Header, Lost};
use crate::clock::wall_time;
use crate::keeper::CacheOrder;

/// For an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Without a byte.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// For one archive: a cache that takes longer spares nothing.
const FETCH_TIME_MAX: Duration = Duration::from_secs(15 * 60);
/// In a row that bring nothing.
const TRIES_MAX: u32 = 4;
const PAUSE: Duration = Duration::from_secs(1);
/// On their way from the connection to the disk.
const CHUNKS_WAITING_MAX: usize = 16;

/// What it takes to fetch the caches of one job.
pub struct Fetcher {
    pub client: Client,
    /// `/v1/tenants/NAME`, and the lease's header; `None` when the server did not say whose job it is.
    pub base: Option<(String, Vec<Header>)>,
    pub specs: Vec<CacheSpec>,
    /// Where archives are kept until the job is over.
    pub folder: PathBuf,
    pub bytes_max: u64,
}

enum Miss {
    /// The server has none.
    Nothing,
    Failed(String),
}

impl Fetcher {
    /// What may be brought when the job succeeds. The keeper makes an archive only of what it is told to.
    pub fn packed(&self) -> Vec<Packed> {
        let (usable, _) = self.usable();
        let packed = |(number, spec): (usize, &CacheSpec)| Packed {
            name: spec.r#type.clone(),
            key: spec.key.clone(),
            archive: self.made(number),
        };
        usable.into_iter().map(packed).collect()
    }

    /// Lines for the job's log are sent as they come up.
    pub async fn fetch(self, lines: Sender<String>) -> Vec<CacheOrder> {
        if let Err(error) = std::fs::create_dir(&self.folder) {
            let _ = lines.send(format!("caches are left alone: no folder for them: {error}")).await;
            return Vec::new();
        }
        let (usable, problems) = self.usable();
        for problem in problems {
            let _ = lines.send(problem).await; // nobody may care any more
        }
        let mut orders = Vec::new();
        for (number, spec) in usable {
            let (order, line) = self.one(number, spec).await;
            orders.push(order);
            let _ = lines.send(line).await;
        }
        orders
    }

    /// Those with a key that can be looked for, each once.
    fn usable(&self) -> (Vec<(usize, &CacheSpec)>, Vec<String>) {
        let (mut usable, mut problems, mut keys) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (number, spec) in self.specs.iter().enumerate() {
            let name = shown(&spec.r#type);
            let fits = (1..=KEY_BYTES_MAX).contains(&spec.key.len()) && !spec.key.contains(char::is_control);
            if usable.len() == CACHES_MAX {
                problems.push(format!("caches after the first {CACHES_MAX} are left alone"));
                break;
            } else if !fits {
                let problem = format!("a key has 1 to {KEY_BYTES_MAX} bytes and no control characters");
                problems.push(format!("cache {name}: left alone: {problem}"));
            } else if !keys.insert(&spec.key) {
                problems.push(format!(
                    "cache {name}: left alone: another cache of this job has the key {}",
                    spec.key
                ));
            } else {
                usable.push((number, spec));
            }
        }
        (usable, problems)
    }

    async fn one(&self, number: usize, spec: &CacheSpec) -> (CacheOrder, String) {
        let archive = self.folder.join(format!("{number}.found"));
        let fetched = match tokio::time::timeout(FETCH_TIME_MAX, self.found(spec, &archive)).await {
            Ok(fetched) => fetched,
            Err(_) => Err(Miss::Failed("it took too long".into())),
        };
        let (name, key) = (shown(&spec.r#type), &spec.key);
        let later = format!("it will be saved under {key} if the job succeeds");
        let (found, line) = match fetched {
            Ok(found) => {
                let how = if found.exact { "exact".into() } else { format!("for {key}") };
                let age = ago(wall_time().since(found.created_at));
                let about = format!("({how}, {}, saved by {} {age})", size(found.bytes), found.job);
                let then = if found.exact { String::new() } else { format!("; {later}") };
                let line = format!("cache {name}: hit {} {about}{then}", shown(&found.key));
                (Some(found), line)
            }
            Err(Miss::Nothing) => {
                let begins = spec.prefix.as_deref().filter(|prefix| !prefix.is_empty());
                let begins =
                    begins.map(|prefix| format!(" or begins with {}", shown(prefix))).unwrap_or_default();
                (None, format!("cache {name}: nothing has {key}{begins}; {later}"))
            }
            Err(Miss::Failed(problem)) => {
                (None, format!("cache {name}: cannot be fetched: {problem}; {later}"))
            }
        };
        let exact = found.as_ref().is_some_and(|found| found.exact);
        let order = CacheOrder {
            name,
            paths: spec.paths.clone(),
            archive: found.map(|_| archive),
            save_to: (!exact).then(|| self.made(number)),
        };
        (order, line)
    }

    fn made(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{number}.made"))
    }

    async fn found(&self, spec: &CacheSpec, archive: &Path) -> Result<FoundCache, Miss> {
        let Some((base, headers)) = &self.base else {
            return Err(Miss::Failed("the server did not say whose job it is".into()));
        };
        let found = self.look(base, headers, spec).await?;
        if found.bytes > self.bytes_max {
            let problem =
                format!("it has {}, and this runner takes {}", size(found.bytes), size(self.bytes_max));
            return Err(Miss::Failed(problem));
        }
        let path = format!("{base}/blobs/{}", found.digest);
        let mut part = Part::make(archive).map_err(|error| Miss::Failed(error.to_string()))?;
        let mut tries = 0;
        while part.length < found.bytes {
            let before = part.length;
            let (back, problem) = self.go_on(&path, headers, part, found.bytes).await?;
            part = back;
            let Some(problem) = problem else { break };
            tries = if part.length > before { 1 } else { tries + 1 };
            if tries >= TRIES_MAX {
                return Err(Miss::Failed(problem));
            }
            tokio::time::sleep(PAUSE).await;
        }
        if Digest::from_bytes(part.hash.finalize().into()) != found.digest {
            return Err(Miss::Failed("other bytes came than were saved".into()));
        }
        Ok(found)
    }

    async fn look(&self, base: &str, headers: &[Header], spec: &CacheSpec) -> Result<FoundCache, Miss> {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let mut path = format!("{base}/caches/find?key={}", encoded(&spec.key));
        if let Some(prefix) = spec.prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
            path.push_str(&format!("&prefix={}", encoded(prefix)));
        }
        let mut problem = String::new();
        for _ in 0..TRIES_MAX {
            match self.client.get_with(&path, headers, PATIENCE).await {
                Ok(reply) if reply.status == 200 => {
                    return decode(&reply.body).map_err(|bad| Miss::Failed(bad.to_string()));
                }
                Ok(reply) => {
                    let said = serde_json::from_slice::<Problem>(&reply.body);
                    let code = said.as_ref().map(|said| said.code.as_str()).unwrap_or_default();
                    if reply.status == 404 && code == "cache_miss" {
                        return Err(Miss::Nothing);
                    }
                    problem = said.map_or(format!("status {}", reply.status), |said| said.detail);
                    if reply.status < 500 {
                        break;
                    }
                }
                Err(Lost { problem: lost, .. }) => problem = lost,
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(Miss::Failed(problem))
    }

    /// Takes what is missing, as far as it comes; the problem, if it did not all come.
    async fn go_on(
        &self,
        path: &str,
        headers: &[Header],
        mut part: Part,
        length: u64,
    ) -> Result<(Part, Option<String>), Miss> {
        let mut stream = match self.client.open_from_with(path, headers, part.length, PATIENCE).await {
            Ok(stream) => stream,
            Err(Lost { problem, .. }) => return Ok((part, Some(problem))),
        };
        match (stream.status, stream.begins_at) {
            (206, Some(offset)) if offset == part.length => {}
            (200, _) if part.length == 0 => {}
            (200, _) => part.restart().map_err(|error| Miss::Failed(error.to_string()))?,
            (status @ 500.., _) => return Ok((part, Some(format!("status {status}")))),
            (status, _) => return Err(Miss::Failed(format!("status {status}"))),
        }
        let (chunks, mut taken) = mpsc::channel::<Bytes>(CHUNKS_WAITING_MAX);
        let mut position = part.length;
        let writing = tokio::task::spawn_blocking(move || {
            while let Some(chunk) = taken.blocking_recv() {
                part.append(&chunk)?;
            }
            Ok::<Part, std::io::Error>(part)
        });
        let problem = loop {
            match tokio::time::timeout(SILENCE_MAX, stream.next()).await {
                Ok(Some(Ok(chunk))) => {
                    position += chunk.len() as u64;
                    if position > length || chunks.send(chunk).await.is_err() {
                        break Some("more bytes than there are, or no room for them".into());
                    }
                }
                Ok(Some(Err(Lost { problem, .. }))) => break Some(problem),
                Ok(None) => break (position < length).then(|| "it broke off".into()),
                Err(_) => break Some("not a byte for a minute".into()),
            }
        };
        drop(chunks);
        let written = writing.await.map_err(std::io::Error::other).and_then(|written| written);
        Ok((written.map_err(|error| Miss::Failed(error.to_string()))?, problem))
    }
}

/// As much of an archive as has come, and the hash of it.
struct Part {
    file: File,
    hash: Sha256,
    length: u64,
}

impl Part {
    fn make(path: &Path) -> std::io::Result<Part> {
        let file = File::options().write(true).create_new(true).open(path)?;
        Ok(Part { file, hash: Sha256::new(), length: 0 })
    }

    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn restart(&mut self) -> std::io::Result<()> {
        self.file.set_len(0)?;
        std::io::Seek::rewind(&mut self.file)?;
        (self.hash, self.length) = (Sha256::new(), 0);
        Ok(())
    }
}
