//! The log as it is now, as text, read page by page while it is sent.

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};
use decisions::doctor::JobFile;
use decisions::records::Execution;
use futures_util::stream::try_unfold;
use machines::Machine;
use store::Store;

use crate::api::logs::is_lost;
use crate::api::logs::pieces::{Piece, Source, grouped};
use crate::api::state::Api;
use crate::artifacts::Trouble;

/// A log is anybody's text: no browser shall take it for anything else.
pub fn response<S: Store>(api: Api<S>, file: JobFile) -> Response {
    let reader = Reader {
        api,
        executions: file.executions,
        index: 0,
        offset: 0,
        source: None,
        begun: false,
        at_line_start: true,
    };
    let stream = try_unfold(reader, async |mut reader| {
        let page = reader.next().await?;
        Ok::<_, Trouble>(page.map(|page| (page, reader)))
    });
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
    ];
    (headers, Body::from_stream(Box::pin(stream))).into_response()
}

struct Reader<S> {
    api: Api<S>,
    executions: Vec<Execution>,
    /// The execution that is being read, and how far.
    index: usize,
    offset: u64,
    source: Option<Source>,
    begun: bool,
    at_line_start: bool,
}

impl<S: Store> Reader<S> {
    async fn next(&mut self) -> Result<Option<Bytes>, Trouble> {
        while let Some(execution) = self.executions.get(self.index) {
            let mut page = Vec::new();
            if !self.begun && self.index > 0 {
                let said =
                    format!("attempt {}, execution {} begins here", execution.attempt.index, execution.id);
                marker(&mut page, self.at_line_start, &said);
                self.at_line_start = true;
            }
            self.begun = true;
            let source = self.source.get_or_insert_with(|| Source::of(execution.id));
            let found = source.pieces(&self.api, self.offset).await?;
            if found.is_empty() {
                if is_lost(execution.lease.get()) {
                    let state = execution.lease.get().as_str();
                    let said = format!(
                        "the lease of {} was lost here ({state}); its end may be missing",
                        execution.id
                    );
                    marker(&mut page, self.at_line_start, &said);
                    self.at_line_start = true;
                }
                (self.index, self.offset, self.begun) = (self.index + 1, 0, false);
                self.source = None;
            } else {
                self.append(&mut page, found);
            }
            if !page.is_empty() {
                return Ok(Some(page.into()));
            }
        }
        Ok(None)
    }

    fn append(&mut self, page: &mut Vec<u8>, found: Vec<Piece>) {
        for piece in found {
            match piece {
                Piece::Bytes(slice) => {
                    page.extend_from_slice(slice.bytes());
                    self.at_line_start = slice.bytes().last() == Some(&b'\n');
                    self.offset = slice.end();
                }
                Piece::Gap { offset, bytes } => {
                    marker(page, self.at_line_start, &format!("{} bytes left out here", grouped(bytes)));
                    self.at_line_start = true;
                    self.offset = offset + bytes;
                }
            }
        }
    }
}

/// On a line of its own.
fn marker(page: &mut Vec<u8>, at_line_start: bool, said: &str) {
    if !at_line_start {
        page.push(b'\n');
    }
    page.extend_from_slice(format!("[delta-ci: {said}]\n").as_bytes());
}
