//! Content that comes again: whoever commits has looked at other bytes than are noted by then.

use std::time::Duration;

use decisions::records::Measured;
use decisions::uploads::{CommitUpload, ContentReceived, StartUpload};
use decisions::{Answer, Refusal};
use server::{Failure, Mint};

use crate::artifacts::yard::{Yard, digest};
use crate::script::block_on;

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn a_commit_that_saw_other_bytes_than_are_noted_makes_no_blob() {
    block_on(async {
        let yard = Yard::open(LONG, LONG).await;
        let (tenant, now) = (yard.tenants[0], yard.engine.clock().now());
        let (id, blob, length) = (Mint.upload(now), Mint.blob(now), 5);
        let announced = digest(b"right");
        let start =
            StartUpload { id, blob, tenant, digest: announced, length, execution: None, measured: None };
        yard.engine.perform(start).await.unwrap();
        let of = |digest| Measured { digest, length };
        let commit = |measured| CommitUpload { tenant, upload: id, measured, digest: announced };
        let not_ready = |answer: Result<Answer, Failure>| {
            matches!(answer, Err(Failure::Refused(Refusal::UploadNotReady { .. })))
        };

        // The caller has seen bytes that nobody announced, and placed none; meanwhile the right ones have come.
        for bytes in [b"wrong", b"right"] {
            let received = ContentReceived { tenant, upload: id, measured: of(digest(bytes)) };
            yard.engine.perform(received).await.unwrap();
        }
        assert!(not_ready(yard.engine.perform(commit(Some(of(digest(b"wrong"))))).await));
        // Or it had found nothing at all.
        assert!(not_ready(yard.engine.perform(commit(None)).await));
        let done = yard.engine.perform(commit(Some(of(announced)))).await.unwrap();
        assert!(matches!(done, Answer::UploadIs(upload) if upload.got == Some(blob)));
    });
}
