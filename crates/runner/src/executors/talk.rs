//! The last words of a helper program, kept for when it fails.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

const KEPT_BYTES_MAX: usize = 4 * 1024;

/// Keeps the end of what it hears.
#[derive(Clone, Default)]
pub struct Talk(Arc<Mutex<Vec<u8>>>);

impl Talk {
    /// Listens until the stream ends.
    pub fn of(mut stream: impl AsyncRead + Send + Unpin + 'static) -> Talk {
        let talk = Talk::default();
        let ours = talk.clone();
        tokio::spawn(async move {
            let mut buffer = [0; 1024];
            while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                ours.hear(&buffer[..length]);
            }
        });
        talk
    }

    pub fn hear(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        let too_many = kept.len().saturating_sub(KEPT_BYTES_MAX);
        kept.drain(..too_many);
    }

    /// The last line that says something.
    pub fn last_line(&self) -> Option<String> {
        self.pick(|lines| lines.last().copied())
    }

    /// The first line of this kind, or else the last of all.
    pub fn first_line_with(&self, wanted: impl Fn(&str) -> bool) -> Option<String> {
        self.pick(|lines| lines.iter().copied().find(|line| wanted(line))).or_else(|| self.last_line())
    }

    fn pick(&self, pick: impl for<'a> Fn(&[&'a str]) -> Option<&'a str>) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        pick(&lines).map(str::to_owned)
    }
}
