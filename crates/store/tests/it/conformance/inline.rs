//! Small blobs whose bytes lie among the records: they come and go with the record, and with nothing else.

use decisions::collections::{BlobsSwept, ClaimBlobs, MarkBlobs, StartCollection};
use decisions::doctor::{Examined, check_blob};
use decisions::draft::Stated;
use decisions::records::{Blob, BlobBytes, Measured, Upload};
use decisions::uploads::{PutBlob, StartUpload};
use decisions::{Answer, Ask, Changes};
use machines::{blob, upload};
use store::{Store, StoreError};
use wire::TenantId;

use crate::commands::tenant;
use crate::desk::Desk;
use crate::forged::artifacts::{bare_blob, blob_id, digest, gc_id, only, put, upload_id};
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    a_small_blob_is_one_commit,
    bytes_that_are_here_are_not_written_again,
    bytes_go_with_the_record_of_their_deletion,
    a_blob_without_its_bytes_is_found,
]);

on_stores!(sqlite, postgres => [bytes_neither_change_nor_go_before_their_blob]);

const BYTES: [u8; 5] = *b"bytes";

fn small(number: u128, tenant: TenantId) -> PutBlob {
    let (digest, length) = (digest(1), BYTES.len() as u64);
    let start = StartUpload {
        id: upload_id(number),
        blob: blob_id(number),
        tenant,
        digest,
        length,
        execution: None,
        measured: Some(Measured { digest, length }),
    };
    PutBlob { start, bytes: BYTES.into() }
}

async fn brought<S: Store>(desk: &Desk<S>, put: PutBlob) -> Upload {
    match desk.must(put).await {
        Answer::UploadIs(upload) => *upload,
        other => panic!("{other:?}"),
    }
}

async fn bytes<S: Store>(desk: &Desk<S>, number: u128) -> Option<Vec<u8>> {
    desk.store.blob_bytes(blob_id(number)).await.unwrap().map(|bytes| bytes.to_vec())
}

async fn a_small_blob_is_one_commit<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let upload = brought(&desk, small(1, tenant())).await;
    assert_eq!((upload.state.get(), upload.got), (upload::State::Committed, Some(blob_id(1))));
    assert!(!upload.litter, "nothing lies anywhere else");
    let blob = desk.store.blob_of(tenant(), digest(1)).await.unwrap().expect("it is here");
    assert_eq!((blob.id, blob.inline, blob.length), (blob_id(1), true, 5));
    assert_eq!(bytes(&desk, 1).await.as_deref(), Some(&BYTES[..]));
    assert_eq!(bytes(&desk, 2).await, None);
    let before = desk.store.events_after(0, usize::MAX).await.unwrap().len();
    assert_eq!(brought(&desk, small(1, tenant())).await, upload, "said twice");
    assert_eq!(desk.store.events_after(0, usize::MAX).await.unwrap().len(), before);
    assert_eq!(desk.store.usage(tenant()).await.unwrap().bytes, 5);
    let counted = desk.store.usage_files_after(None, 10).await.unwrap();
    let counted = counted.iter().find(|it| it.usage.tenant == tenant()).expect("every tenant has one");
    assert_eq!((counted.usage.bytes, counted.bytes, counted.usage.blobs, counted.blobs), (5, 5, 1, 1));
    let first = desk.store.id_after(Examined::Blobs, None).await.unwrap();
    assert_eq!(first, Some(blob_id(1).to_string()));
    assert_eq!(desk.store.id_after(Examined::Blobs, first.as_deref()).await, Ok(None));
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn bytes_that_are_here_are_not_written_again<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    brought(&desk, small(1, tenant())).await;
    let again = brought(&desk, small(2, tenant())).await;
    assert_eq!((again.state.get(), again.got), (upload::State::Committed, Some(blob_id(1))));
    // Two in one batch, of bytes that are new: the second finds the first's.
    let other = |number| {
        let mut put = small(number, tenant());
        put.start.digest = digest(2);
        put.start.measured = Some(Measured { digest: digest(2), length: 5 });
        put
    };
    desk.must_all([other(3), other(4)]).await;
    assert_eq!(desk.store.upload(upload_id(4)).await.unwrap().and_then(|it| it.got), Some(blob_id(3)));
    assert_eq!((bytes(&desk, 2).await, bytes(&desk, 4).await), (None, None));
    assert_eq!(desk.store.usage(tenant()).await.unwrap().blobs, 2);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn bytes_go_with_the_record_of_their_deletion<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await.with_policy(|policy| policy.blob_grace = std::time::Duration::ZERO);
    brought(&desk, small(1, tenant())).await;
    let (collection, holder, blobs) = (gc_id(1), 7, vec![blob_id(1)]);
    desk.must(StartCollection { id: collection, holder }).await;
    desk.must(MarkBlobs { collection, holder, blobs: blobs.clone(), last: true }).await;
    desk.must(ClaimBlobs { collection, holder, blobs: blobs.clone() }).await;
    assert_eq!(bytes(&desk, 1).await.as_deref(), Some(&BYTES[..]), "claimed is not gone");
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
    // The same bytes again are another blob, while the claimed one still has its own.
    assert_eq!(brought(&desk, small(2, tenant())).await.got, Some(blob_id(2)));
    desk.must(BlobsSwept { collection, holder, blobs: blobs.clone() }).await;
    assert_eq!(bytes(&desk, 1).await, None);
    assert_eq!(bytes(&desk, 2).await.as_deref(), Some(&BYTES[..]));
    desk.must(BlobsSwept { collection, holder, blobs }).await;
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn a_blob_without_its_bytes_is_found<S: Store>(desk: Desk<S>) {
    let inline = Blob { inline: true, length: 5, ..bare_blob(1) };
    let mut changes = only([inline.clone(), Blob { inline: true, length: 4, ..bare_blob(2) }, bare_blob(3)]);
    let row = |number| BlobBytes { blob: blob_id(number), bytes: BYTES.into() };
    changes.appended.blob_bytes = vec![row(2), row(3)];
    desk.forge(changes).await.unwrap();
    let files = desk.store.blob_files_after(None, 9).await.unwrap();
    let about = |number: usize| {
        let all = check_blob(&files[number]).into_iter();
        all.filter(|it| it.invariant == "A1").map(|it| it.problem).collect::<Vec<_>>()
    };
    assert_eq!(about(0), ["bytes among the records: stored None, computed Some(5)"]);
    assert_eq!(about(1), ["bytes among the records: stored Some(5), computed Some(4)"]);
    assert_eq!(about(2), ["bytes among the records: stored Some(5), computed None"]);
}

async fn refused<S: Store>(desk: &Desk<S>, changes: Changes) {
    let refused = desk.forge_after(&[Ask::Blob(blob_id(1))], changes).await;
    assert!(matches!(refused, Err(StoreError::Violation(_) | StoreError::Conflict(_))), "{refused:?}");
}

async fn bytes_neither_change_nor_go_before_their_blob<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    brought(&desk, small(1, tenant())).await;
    let here = desk.store.blob(blob_id(1)).await.unwrap().expect("it was made");
    refused(&desk, going([])).await;
    let claimed = Blob { claimed_by: Some(gc_id(1)), ..here.clone() };
    refused(&desk, going([claimed.clone()])).await;
    let mut twice = Changes::default();
    twice.appended.blob_bytes.push(BlobBytes { blob: blob_id(1), bytes: (*b"other").into() });
    refused(&desk, twice).await;
    assert_eq!(bytes(&desk, 1).await.as_deref(), Some(&BYTES[..]));
    let deleted = Blob { state: Stated::stored(blob::State::Deleted), ..claimed };
    desk.forge_after(&[Ask::Blob(blob_id(1))], going([deleted])).await.unwrap();
    assert_eq!(bytes(&desk, 1).await, None);
}

/// The bytes go, and this becomes of the record.
fn going(records: impl IntoIterator<Item = Blob>) -> Changes {
    let mut changes = Changes::default();
    put(&mut changes, records);
    changes.appended.bytes_gone.push(blob_id(1));
    changes
}
