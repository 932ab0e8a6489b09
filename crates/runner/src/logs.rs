//! A job's log on its way: what it wrote goes to a file of the execution, and is read from there to be sent.
//!
//! Memory stays flat whatever a job writes and however long the orchestrator is away. Bytes leave the file only with the
//! execution's folder, so an upload can go on from any offset.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Beyond this a job's output is dropped, or it would fill the disk. The orchestrator keeps far less.
pub const LOG_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Of the end of the output, kept for the summary.
const LAST_BYTES_MAX: usize = 2048;
const LAST_LINES_MAX: usize = 3;
const LAST_WORDS_MAX: usize = 500;

/// The writing side.
#[derive(Debug)]
pub struct Spool {
    shared: Arc<Shared>,
    bytes_max: u64,
    written: u64,
    at_line_start: bool,
    /// Bytes of output that could not be kept since the last that could.
    dropped: u64,
    last: Vec<u8>,
}

/// The reading side.
#[derive(Debug, Clone)]
pub struct Spooled {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    file: File,
    /// The file may be longer, by the part of a write that failed.
    written: AtomicU64,
}

impl Spool {
    pub fn create(path: &Path) -> io::Result<Spool> {
        Spool::with_limit(path, LOG_BYTES_MAX)
    }

    pub fn with_limit(path: &Path, bytes_max: u64) -> io::Result<Spool> {
        let file = File::options().read(true).write(true).create_new(true).open(path)?;
        let shared = Arc::new(Shared { file, written: AtomicU64::new(0) });
        Ok(Spool { shared, bytes_max, written: 0, at_line_start: true, dropped: 0, last: Vec::new() })
    }

    pub fn reader(&self) -> Spooled {
        Spooled { shared: self.shared.clone() }
    }

    /// How long the log is.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// What the job wrote. What the disk does not take is counted, and shown as a gap before whatever follows.
    pub fn output(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.written + bytes.len() as u64 > self.bytes_max || !self.gap_is_shown() || !self.put(bytes) {
            self.dropped += bytes.len() as u64;
        }
        self.remember(bytes);
    }

    /// A line of the runner's own.
    pub fn note(&mut self, line: &str) {
        if self.gap_is_shown() {
            self.put_line(line);
        }
    }

    /// The end of what the job wrote, in one printable line.
    pub fn last_words(&self) -> String {
        let text = String::from_utf8_lossy(&self.last);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let from = lines.len().saturating_sub(LAST_LINES_MAX);
        let words: String = plain(&lines[from..].join(" | "));
        let skipped = words.chars().count().saturating_sub(LAST_WORDS_MAX);
        words.chars().skip(skipped).collect()
    }

    fn gap_is_shown(&mut self) -> bool {
        if self.dropped == 0 {
            return true;
        }
        let line = format!("# {} bytes of output are missing here: they could not be kept", self.dropped);
        let shown = self.put_line(&line);
        if shown {
            self.dropped = 0;
        }
        shown
    }

    fn put_line(&mut self, line: &str) -> bool {
        let start = if self.at_line_start { "" } else { "\n" };
        self.put(format!("{start}{line}\n").as_bytes())
    }

    /// Part of a write that failed half-way is overwritten by the next: only whole ones count.
    fn put(&mut self, bytes: &[u8]) -> bool {
        let kept = self.shared.file.write_all_at(bytes, self.written).is_ok();
        if kept {
            self.written += bytes.len() as u64;
            self.shared.written.store(self.written, Ordering::Release);
            self.at_line_start = bytes.ends_with(b"\n");
        }
        kept
    }

    fn remember(&mut self, bytes: &[u8]) {
        let new = &bytes[bytes.len().saturating_sub(LAST_BYTES_MAX)..];
        let over = (self.last.len() + new.len()).saturating_sub(LAST_BYTES_MAX);
        self.last.drain(..over);
        let _ = self.last.write_all(new); // a vector takes everything
    }
}

impl Spooled {
    /// Up to `bytes_max` from `offset` on, as far as they are written.
    pub fn read(&self, offset: u64, bytes_max: u64) -> io::Result<Vec<u8>> {
        let written = self.shared.written.load(Ordering::Acquire);
        let length = written.saturating_sub(offset).min(bytes_max);
        let mut bytes = vec![0; length as usize];
        self.shared.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
}

/// Without escape sequences and other control characters.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' && letters.peek() == Some(&'[') {
            // A colour or a move of the cursor: up to its final letter.
            let _ = letters.by_ref().skip(1).find(|letter| ('\u{40}'..='\u{7e}').contains(letter));
        } else if !letter.is_control() {
            plain.push(letter);
        }
    }
    plain
}
