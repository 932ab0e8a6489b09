//! What the artifact store's answers mean for an upload.

use wire::api::{Problem, UploadView};
use wire::decode;
use wire::runner::StaleLease;

use super::UploadError;
use crate::client::{Lost, Reply};

/// Why a step of an upload did not work.
#[derive(Debug)]
pub enum Trouble {
    /// No answer came; the same again may work in a moment.
    Lost(String),
    /// The same again may work in a moment.
    Passing(String),
    /// The session is over without a blob: a new one may work.
    Ended(String),
    Final(UploadError),
}

pub fn read(reply: Result<Reply, Lost>) -> Result<UploadView, Trouble> {
    let reply = reply.map_err(|lost| Trouble::Lost(lost.problem))?;
    match reply.status {
        200 | 201 => decode(&reply.body)
            .map_err(|problem| Trouble::Passing(format!("an answer that cannot be read: {problem}"))),
        status => Err(refused(status, &reply.body)),
    }
}

fn refused(status: u16, body: &[u8]) -> Trouble {
    if status == 409
        && let Ok(stale) = decode::<StaleLease>(body)
    {
        return Trouble::Final(UploadError::Stale(stale.reason));
    }
    let (code, problem) = match serde_json::from_slice::<Problem>(body) {
        Ok(problem) => (problem.code, problem.detail),
        Err(_) => (String::new(), format!("the server answered with status {status}")),
    };
    match (status, code.as_str()) {
        // The bytes may have been damaged on their way: if the file is as it was, a new session brings them again.
        (404, "upload_not_found") | (409, "upload_ended") | (422, "digest_mismatch" | "length_mismatch") => {
            Trouble::Ended(problem)
        }
        // Another connection still sends, or bytes came that were not the next.
        (408 | 409 | 416 | 425 | 429 | 500 | 502..=506 | 508.., _) => Trouble::Passing(problem),
        (_, _) => Trouble::Final(UploadError::Refused { status, code, problem }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: u16, code: &str) -> Trouble {
        refused(
            status,
            format!(r#"{{"type":"t","title":"T","status":{status},"detail":"d","code":"{code}"}}"#)
                .as_bytes(),
        )
    }

    #[test]
    fn what_passes_is_told_from_what_does_not() {
        for (status, code) in
            [(503, "store_unavailable"), (429, "slow_down"), (409, "upload_busy"), (416, "range")]
        {
            assert!(matches!(said(status, code), Trouble::Passing(_)), "{status}");
        }
        for (status, code) in [(404, "upload_not_found"), (409, "upload_ended"), (422, "digest_mismatch")] {
            assert!(matches!(said(status, code), Trouble::Ended(_)), "{status}");
        }
        for (status, code) in [
            (401, "unauthorized"),
            (403, "forbidden"),
            (404, "tenant_not_found"),
            (413, "too_large"),
            (507, "full"),
        ] {
            assert!(matches!(said(status, code), Trouble::Final(UploadError::Refused { .. })), "{status}");
        }
        let stale = refused(409, br#"{"type":"StaleLease","lease_id":"l","reason":"LEASE_EXPIRED"}"#);
        assert!(matches!(stale, Trouble::Final(UploadError::Stale(_))), "{stale:?}");
        assert!(matches!(refused(502, b"<html>"), Trouble::Passing(_)));
    }
}
