//! Many contents from one process: git is asked for an object at a time.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::process::not_started;
use crate::Error;

const HEADER_BYTES_MAX: u64 = 512;

pub struct Batch {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

pub enum Content {
    Bytes(Vec<u8>),
    TooLarge(u64),
    Missing,
}

impl Batch {
    pub(super) fn start(mut command: Command) -> Result<Batch, Error> {
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(not_started)?;
        let questions = child.stdin.take().expect("it was asked for");
        let answers = BufReader::new(child.stdout.take().expect("it was asked for"));
        Ok(Batch { child, questions, answers })
    }

    /// The object of this id, if it is no longer than that.
    pub fn read(&mut self, id: &str, bytes_max: u64) -> Result<Content, Error> {
        self.exchange(id, bytes_max).map_err(|source| Error::Io {
            what: "read the object",
            path: id.into(),
            source,
        })
    }

    fn exchange(&mut self, id: &str, bytes_max: u64) -> io::Result<Content> {
        writeln!(self.questions, "{id}")?;
        let mut header = String::new();
        self.answers.by_ref().take(HEADER_BYTES_MAX).read_line(&mut header)?;
        let Some(length) = header.split(' ').nth(2) else {
            let missing = header.ends_with(" missing\n");
            return if missing { Ok(Content::Missing) } else { Err(io::ErrorKind::InvalidData.into()) };
        };
        let length: u64 = length.trim_end().parse().map_err(|_| io::ErrorKind::InvalidData)?;
        // Its last byte is a line's end that is not part of it.
        if length > bytes_max {
            io::copy(&mut self.answers.by_ref().take(length + 1), &mut io::sink())?;
            return Ok(Content::TooLarge(length));
        }
        let mut bytes = Vec::new();
        self.answers.by_ref().take(length + 1).read_to_end(&mut bytes)?;
        if bytes.pop() != Some(b'\n') || bytes.len() as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Content::Bytes(bytes))
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
