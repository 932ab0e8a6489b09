//! What jobs do that outlives them: lines in one file, each with the job, its payload and the execution that wrote it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::record::{Happened, Scribe, Word};

const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What one job does.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    pub tenths: u64,
    /// Lines that it prints.
    pub lines: usize,
}

/// A step that notes its begin and end, notes an overlap if any process of the same job is alive elsewhere (the lock is
/// inherited by all of them), and prints numbered lines.
pub fn script(folder: &Path, payload: &str, work: Work) -> String {
    let (effects, locks) = (folder.join("effects"), folder.join("locks"));
    let (effects, locks) = (effects.display(), locks.display());
    let (seconds, half) = (work.tenths as f64 / 20.0, work.lines / 2);
    let whole = work.lines;
    format!(
        "note() {{ echo \"$1 {payload} $DELTACI_JOB $DELTACI_EXECUTION\" >>'{effects}'; }}\n\
         say() {{ n=$1; while [ $n -lt $2 ]; do echo \"{payload} line $n\"; n=$((n+1)); done; }}\n\
         exec 9>>'{locks}'/\"$DELTACI_JOB\"; flock -n 9 || note overlap; note begin\n\
         say 0 {half}; sleep {seconds}; say {half} {whole}; sleep {seconds}\n\
         note end"
    )
}

/// Writes down each line as it comes, in the order of the file.
pub struct Tail {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Tail {
    pub fn of(folder: &Path, scribe: Arc<Scribe>) -> Tail {
        let (stop, path) = (Arc::new(AtomicBool::new(false)), folder.join("effects"));
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            let mut reader = Reader { path, position: 0, rest: Vec::new() };
            while !stopped.load(Ordering::SeqCst) {
                reader.go_on(&scribe);
                thread::sleep(LOOK_EVERY);
            }
            reader.go_on(&scribe);
        });
        Tail { stop, thread: Some(thread) }
    }

    /// After the last line.
    pub fn end(mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

struct Reader {
    path: PathBuf,
    position: u64,
    rest: Vec<u8>,
}

impl Reader {
    fn go_on(&mut self, scribe: &Scribe) {
        let Ok(mut file) = File::open(&self.path) else { return };
        if file.seek(SeekFrom::Start(self.position)).is_err() {
            return;
        }
        let read = file.read_to_end(&mut self.rest).unwrap_or(0);
        self.position += read as u64;
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            if let Some(effect) = effect(&String::from_utf8_lossy(&line)) {
                scribe.saw(effect);
            }
        }
    }
}

fn effect(line: &str) -> Option<Happened> {
    let mut words = line.split_whitespace();
    let word = match words.next()? {
        "begin" => Word::Begin,
        "end" => Word::End,
        "overlap" => Word::Overlap,
        _ => return None,
    };
    let (payload, job) = (words.next()?.to_owned(), words.next()?.to_owned());
    Some(Happened::Effect { word, payload, job, execution: words.next()?.to_owned() })
}
