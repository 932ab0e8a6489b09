//! Discarding leaves nothing, however far an upload came; and it may be said again.

use store::{BlobError, StageError};

use crate::blobs::parts::{parts_of, send_parts};
use crate::blobs::places::{Broke, MIB, Place, broken, key_of, on_places, sample, staging, whole};

on_places![
    a_broken_upload_goes_without_a_trace,
    a_staged_upload_goes_without_a_trace,
    a_placed_upload_goes_without_a_trace,
    parts_go_without_a_trace,
    joined_parts_go_without_a_trace,
    a_request_that_goes_away_leaves_nothing_open,
];

async fn discard_twice(place: &Place, key: &store::BlobKey, multipart: Option<&str>) {
    for _ in 0..2 {
        place.blobs.discard(&staging(1), key, multipart).await.unwrap();
        assert_eq!(place.leftovers(), [] as [&std::path::Path; 0]);
        assert_eq!(place.blobs.keys(None, 10).await, Ok(vec![]));
        assert_eq!(place.blobs.place(&staging(1), key).await, Err(BlobError::NotFound));
    }
}

async fn a_broken_upload_goes_without_a_trace(place: Place) {
    let bytes = sample(1, 20 * MIB);
    let key = key_of(&bytes, 1);
    let cut = bytes.slice(..19 * MIB);
    let staged = place.blobs.stage(&staging(1), &key, 0, bytes.len() as u64, broken(&cut)).await;
    assert_eq!(staged, Err(StageError::Stream(Broke)));
    discard_twice(&place, &key, None).await;
}

async fn a_staged_upload_goes_without_a_trace(place: Place) {
    let bytes = sample(1, 9 * MIB);
    let key = key_of(&bytes, 1);
    place.blobs.stage(&staging(1), &key, 0, bytes.len() as u64, whole(&bytes)).await.unwrap();
    discard_twice(&place, &key, None).await;
}

async fn a_placed_upload_goes_without_a_trace(place: Place) {
    let key = place.stage_and_place(1, &sample(1, 9 * MIB)).await;
    discard_twice(&place, &key, None).await;
}

async fn parts_go_without_a_trace(place: Place) {
    let bytes = sample(1, 11 * MIB);
    let key = key_of(&bytes, 1);
    let multipart = place.blobs.begin_parts(&staging(1), &key).await.unwrap();
    send_parts(&place, &key, multipart.as_deref(), &parts_of(&bytes), &[2, 1]).await;
    discard_twice(&place, &key, multipart.as_deref()).await;
}

async fn joined_parts_go_without_a_trace(place: Place) {
    let bytes = sample(1, 11 * MIB);
    let key = key_of(&bytes, 1);
    let multipart = place.blobs.begin_parts(&staging(1), &key).await.unwrap();
    let parts = send_parts(&place, &key, multipart.as_deref(), &parts_of(&bytes), &[1, 2, 3]).await;
    place.blobs.join(&staging(1), &key, multipart.as_deref(), &parts).await.unwrap();
    discard_twice(&place, &key, multipart.as_deref()).await;
}

/// The future is dropped in the middle, as a server drops that of a client that went away.
async fn a_request_that_goes_away_leaves_nothing_open(place: Place) {
    use futures_util::StreamExt;
    let bytes = sample(1, 20 * MIB);
    let key = key_of(&bytes, 1);
    let stalled = whole(&bytes.slice(..18 * MIB)).chain(futures_util::stream::pending());
    let at = staging(1);
    let staging = place.blobs.stage(&at, &key, 0, bytes.len() as u64, stalled);
    let stopped = tokio::time::timeout(std::time::Duration::from_millis(1_500), staging).await;
    assert!(stopped.is_err());
    if place.is_bucket() {
        // Nobody knows its multipart upload any more, so it is aborted behind our back.
        for _ in 0..500 {
            if place.leftovers().is_empty() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
    discard_twice(&place, &key, None).await;
}
