//! How what agent and keeper say crosses a pipe: a kind, a length, and that many bytes.
//!
//! What a job wrote travels as it is; everything else is JSON. A frame longer than its maximum or of no known kind is an
//! error: whoever reads it must not trust the rest of the stream.

use std::io::{Error, ErrorKind, Result};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::order::{ExecutorKind, Finish, Report, Say};

/// Steps and environment of the largest job we take.
pub const SAY_BYTES_MAX: usize = 16 * 1024 * 1024;
pub const REPORT_BYTES_MAX: usize = 256 * 1024;
/// What a job wrote is passed on in pieces of at most this size.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024;

const HEADER_BYTES: usize = 5;
/// Memory is taken as bytes arrive, not as a header promises them.
const READ_BYTES_MAX: usize = 64 * 1024;

const KIND_JSON: u8 = b'J';
const KIND_OUTPUT: u8 = b'O';

/// Reads frames. Its futures may be dropped at any moment: what was read is kept for the next call.
struct Frames<R> {
    reader: R,
    held: Vec<u8>,
    bytes_max: usize,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    /// `None` at the end of the stream; an end within a frame is an error.
    async fn next(&mut self) -> Result<Option<(u8, Vec<u8>)>> {
        if !self.fill(HEADER_BYTES).await? {
            return Ok(None);
        }
        let [kind, first, second, third, fourth] = self.held[..HEADER_BYTES] else {
            return Err(Error::other("a frame's header has five bytes"));
        };
        let length = u32::from_be_bytes([first, second, third, fourth]) as usize;
        if length > self.bytes_max {
            let problem = format!("a frame of {length} bytes is longer than the {} allowed", self.bytes_max);
            return Err(Error::new(ErrorKind::InvalidData, problem));
        }
        if !self.fill(HEADER_BYTES + length).await? {
            return Ok(None);
        }
        let body = self.held.split_off(HEADER_BYTES);
        self.held.clear();
        Ok(Some((kind, body)))
    }

    /// Reads until so many bytes are held; false when the stream ended between two frames.
    async fn fill(&mut self, bytes: usize) -> Result<bool> {
        while self.held.len() < bytes {
            let missing = (bytes - self.held.len()).min(READ_BYTES_MAX);
            self.held.reserve(missing);
            if (&mut self.reader).take(missing as u64).read_buf(&mut self.held).await? == 0 {
                if self.held.is_empty() {
                    return Ok(false);
                }
                return Err(Error::new(ErrorKind::UnexpectedEof, "the stream ended within a frame"));
            }
        }
        Ok(true)
    }
}

/// The keeper's ear.
pub struct SayReader<R>(Frames<R>);

impl<R: AsyncRead + Unpin> SayReader<R> {
    pub fn new(reader: R) -> Self {
        SayReader(Frames { reader, held: Vec::new(), bytes_max: SAY_BYTES_MAX })
    }

    pub async fn next(&mut self) -> Result<Option<Say>> {
        match self.0.next().await? {
            None => Ok(None),
            Some((KIND_JSON, body)) => Ok(Some(serde_json::from_slice(&body).map_err(malformed)?)),
            Some((kind, _)) => Err(unknown(kind)),
        }
    }
}

/// The agent's ear.
pub struct ReportReader<R>(Frames<R>);

impl<R: AsyncRead + Unpin> ReportReader<R> {
    pub fn new(reader: R) -> Self {
        ReportReader(Frames { reader, held: Vec::new(), bytes_max: REPORT_BYTES_MAX })
    }

    pub async fn next(&mut self) -> Result<Option<Report>> {
        match self.0.next().await? {
            None => Ok(None),
            Some((KIND_OUTPUT, body)) => Ok(Some(Report::Output(body))),
            Some((KIND_JSON, body)) => {
                Ok(Some(serde_json::from_slice::<Told>(&body).map_err(malformed)?.into()))
            }
            Some((kind, _)) => Err(unknown(kind)),
        }
    }
}

pub fn say_frame(say: &Say) -> Result<Vec<u8>> {
    frame(KIND_JSON, &serde_json::to_vec(say)?, SAY_BYTES_MAX)
}

pub fn report_frame(report: Report) -> Result<Vec<u8>> {
    let told = match report {
        Report::Output(bytes) => return frame(KIND_OUTPUT, &bytes, REPORT_BYTES_MAX),
        Report::Chosen { executor, why } => Told::Chosen { executor, why },
        Report::StepStarted { index } => Told::StepStarted { index },
        Report::StepEnded { index, exit_code } => Told::StepEnded { index, exit_code },
        Report::Note { line } => Told::Note { line },
        Report::Finished(finish) => Told::Finished { finish },
    };
    frame(KIND_JSON, &serde_json::to_vec(&told)?, REPORT_BYTES_MAX)
}

fn frame(kind: u8, body: &[u8], bytes_max: usize) -> Result<Vec<u8>> {
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= bytes_max);
    let length = length.ok_or_else(|| {
        let problem = format!("a message of {} bytes is longer than the {bytes_max} allowed", body.len());
        Error::new(ErrorKind::InvalidInput, problem)
    })?;
    let mut frame = Vec::with_capacity(HEADER_BYTES + body.len());
    frame.push(kind);
    frame.extend(length.to_be_bytes());
    frame.extend(body);
    Ok(frame)
}

/// A report that is not output, as JSON.
#[derive(Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
enum Told {
    Chosen { executor: ExecutorKind, why: String },
    StepStarted { index: u32 },
    StepEnded { index: u32, exit_code: i32 },
    Note { line: String },
    Finished { finish: Finish },
}

impl From<Told> for Report {
    fn from(told: Told) -> Report {
        match told {
            Told::Chosen { executor, why } => Report::Chosen { executor, why },
            Told::StepStarted { index } => Report::StepStarted { index },
            Told::StepEnded { index, exit_code } => Report::StepEnded { index, exit_code },
            Told::Note { line } => Report::Note { line },
            Told::Finished { finish } => Report::Finished(finish),
        }
    }
}

fn malformed(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::InvalidData, format!("a frame does not hold what it should: {error}"))
}

fn unknown(kind: u8) -> Error {
    Error::new(ErrorKind::InvalidData, format!("a frame of the unknown kind {kind:#04x}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn reports() -> Vec<Report> {
        vec![
            Report::Chosen { executor: ExecutorKind::Sandbox, why: "because".into() },
            Report::StepStarted { index: 0 },
            Report::Output(vec![0, 255, b'\n', b'J']),
            Report::Output(vec![]),
            Report::StepEnded { index: 0, exit_code: 137 },
            Report::Note { line: "by the way".into() },
            Report::Finished(Finish::Infra { problem: "no disk".into() }),
        ]
    }

    async fn read_all(bytes: &[u8]) -> Result<Vec<Report>> {
        let mut reader = ReportReader::new(bytes);
        let mut found = Vec::new();
        while let Some(report) = reader.next().await? {
            found.push(report);
        }
        Ok(found)
    }

    #[tokio::test]
    async fn reports_arrive_as_they_were_said() {
        let bytes: Vec<u8> = reports().into_iter().flat_map(|report| report_frame(report).unwrap()).collect();
        assert_eq!(read_all(&bytes).await.unwrap(), reports());
    }

    #[tokio::test]
    async fn a_stream_cut_anywhere_but_between_frames_is_an_error() {
        let bytes = report_frame(Report::Output(vec![7; 10])).unwrap();
        for cut in 1..bytes.len() {
            assert!(read_all(&bytes[..cut]).await.is_err(), "cut after {cut}");
        }
        assert_eq!(read_all(&[]).await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_reader_that_is_interrupted_loses_nothing() {
        let (mut writer, reader) = tokio::io::duplex(1);
        let bytes = report_frame(Report::Output(vec![7; 100])).unwrap();
        tokio::spawn(async move {
            for byte in bytes {
                tokio::io::AsyncWriteExt::write_all(&mut writer, &[byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
        let mut reader = ReportReader::new(reader);
        const TRIES_MAX: usize = 100_000;
        for _ in 0..TRIES_MAX {
            tokio::select! {
                biased;
                report = reader.next() => {
                    assert_eq!(report.unwrap(), Some(Report::Output(vec![7; 100])));
                    return;
                }
                _ = tokio::task::yield_now() => {}
            }
        }
        panic!("the report never arrived");
    }

    #[tokio::test]
    async fn what_is_malformed_is_refused_with_words() {
        for (bytes, word) in [
            (&b"X\0\0\0\0"[..], "unknown kind"),
            (&b"J\0\0\0\x02{}"[..], "does not hold"),
            (&b"O\xff\xff\xff\xff"[..], "longer than"),
        ] {
            let error = read_all(bytes).await.unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[tokio::test]
    async fn says_arrive_as_they_were_said() {
        let say = Say::Cancel { grace: Duration::from_millis(1500) };
        let bytes = say_frame(&say).unwrap();
        assert_eq!(SayReader::new(&bytes[..]).next().await.unwrap(), Some(say));
        let output = report_frame(Report::Output(vec![1])).unwrap();
        assert!(SayReader::new(&output[..]).next().await.is_err());
    }
}
