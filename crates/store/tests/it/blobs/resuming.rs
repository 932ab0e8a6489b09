//! A stream that broke goes on where it stopped; two that write to one upload take turns. Files only.

use std::time::Duration;

use futures_util::StreamExt;
use store::{BlobError, Blobs, StageError};

use crate::blobs::places::{Broke, MIB, Place, broken, digest_of, files, key_of, sample, staging, whole};

#[test]
fn a_broken_stream_goes_on_where_it_stopped() {
    files(async |place: Place| {
        let bytes = sample(1, 3 * MIB + 11);
        let length = bytes.len() as u64;
        for (number, cut) in (1..).zip([0, 1, 60_001, MIB, MIB + 1, 3 * MIB, 3 * MIB + 10]) {
            let (at, key) = (staging(number), key_of(&bytes, number));
            let broke = place.blobs.stage(&at, &key, 0, length, broken(&bytes.slice(..cut))).await;
            assert_eq!(broke, Err(StageError::Stream(Broke)));
            assert_eq!(place.blobs.staged(&at).await, Ok(cut as u64));
            assert_eq!(place.blobs.place(&at, &key).await, Err(BlobError::NotFound));
            let rest = whole(&bytes.slice(cut..));
            let staged = place.blobs.stage(&at, &key, cut as u64, length, rest).await.unwrap();
            assert_eq!((staged.digest, staged.length), (digest_of(&bytes), length));
            place.blobs.place(&at, &key).await.unwrap();
            assert_eq!(place.contents(&key).await.unwrap(), bytes, "cut at {cut}");
        }
    });
}

/// In many pieces, each durable when acknowledged, by a server that is started anew for each.
#[test]
fn an_upload_in_pieces_survives_restarts() {
    files(async |place: Place| {
        let bytes = sample(1, 2 * MIB + 5);
        let (at, key, length) = (staging(1), key_of(&bytes, 1), bytes.len() as u64);
        let mut offset = 0;
        while offset < bytes.len() {
            let blobs = Blobs::open(place.path().to_str().unwrap()).await.unwrap();
            assert_eq!(blobs.staged(&at).await, Ok(offset as u64));
            let piece = bytes.slice(offset..bytes.len().min(offset + 700_000));
            let staged = blobs.stage(&at, &key, offset as u64, length, whole(&piece)).await.unwrap();
            offset += piece.len();
            assert_eq!((staged.digest, staged.length), (digest_of(&bytes[..offset]), offset as u64));
        }
        // The last answer was lost: nothing is sent again, and it is still the whole.
        let nothing = whole(&bytes.slice(..0));
        let again = place.blobs.stage(&at, &key, length, length, nothing).await.unwrap();
        assert_eq!(again.digest, digest_of(&bytes));
        place.blobs.place(&at, &key).await.unwrap();
        assert_eq!(place.contents(&key).await.unwrap(), bytes);
    });
}

#[test]
fn an_upload_goes_on_only_from_what_is_here() {
    files(async |place: Place| {
        let bytes = sample(1, 1_000);
        let (at, key) = (staging(1), key_of(&bytes, 1));
        let first = bytes.slice(..400);
        place.blobs.stage(&at, &key, 0, 1_000, whole(&first)).await.unwrap();
        let gap = place.blobs.stage(&at, &key, 500, 1_000, whole(&first)).await;
        assert_eq!(gap, Err(StageError::Blob(BlobError::Gap { staged: 400 })));
        let long = place.blobs.stage(&at, &key, 400, 1_000, whole(&sample(2, 601))).await;
        assert_eq!(long, Err(StageError::Blob(BlobError::TooLong { expected: 1_000 })));
        assert_eq!(place.blobs.staged(&at).await, Ok(400), "what was acknowledged stays");
        // Going on from earlier drops what came after.
        let rest = whole(&bytes.slice(300..));
        let staged = place.blobs.stage(&at, &key, 300, 1_000, rest).await.unwrap();
        assert_eq!(staged.digest, digest_of(&bytes));
    });
}

/// What came is kept, once it is on the disk; another request waits for that.
#[test]
fn an_upload_whose_request_went_away_goes_on_from_what_had_come() {
    files(async |place: Place| {
        let bytes = sample(1, 2 * MIB);
        let (at, key, length) = (staging(1), key_of(&bytes, 1), bytes.len() as u64);
        let hanging = {
            let (blobs, at, key) = (place.blobs.clone(), at.clone(), key.clone());
            let stalled = whole(&bytes.slice(..MIB)).chain(futures_util::stream::pending());
            tokio::spawn(async move { blobs.stage(&at, &key, 0, length, stalled).await })
        };
        place.has_come(&at, MIB as u64).await;
        assert_eq!(place.blobs.staged(&at).await, Ok(0), "a power cut could still take it");
        hanging.abort();
        while place.blobs.staged(&at).await.unwrap() < MIB as u64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        place.blobs.stage(&at, &key, MIB as u64, length, whole(&bytes.slice(MIB..))).await.unwrap();
        place.blobs.place(&at, &key).await.unwrap();
        assert_eq!(place.contents(&key).await.unwrap(), bytes);
    });
}

/// After a power cut the file may be as long as it was, with nothing in it. Only what was noted counts.
#[test]
fn bytes_that_nobody_noted_as_synced_do_not_count() {
    files(async |place: Place| {
        let bytes = sample(1, 3_000);
        let (at, key) = (staging(1), key_of(&bytes, 1));
        place.blobs.stage(&at, &key, 0, 3_000, whole(&bytes.slice(..1_000))).await.unwrap();
        let torn = place.path().join(at.as_str()).join("bytes");
        std::fs::OpenOptions::new().write(true).open(torn).unwrap().set_len(2_000).unwrap();
        assert_eq!(place.blobs.staged(&at).await, Ok(1_000));
        let beyond = place.blobs.stage(&at, &key, 2_000, 3_000, whole(&bytes.slice(2_000..))).await;
        assert_eq!(beyond, Err(StageError::Blob(BlobError::Gap { staged: 1_000 })));
        let staged = place.blobs.stage(&at, &key, 1_000, 3_000, whole(&bytes.slice(1_000..))).await.unwrap();
        assert_eq!(staged.digest, digest_of(&bytes));
    });
}

/// The first request hangs in the middle. The second must not mix its bytes in.
#[test]
fn two_requests_on_one_upload_take_turns() {
    files(async |place: Place| {
        let bytes = sample(1, 2 * MIB);
        let (at, key, length) = (staging(1), key_of(&bytes, 1), bytes.len() as u64);
        let hanging = {
            let (blobs, at, key) = (place.blobs.clone(), at.clone(), key.clone());
            let stalled = whole(&bytes.slice(..MIB + 7)).chain(futures_util::stream::pending());
            tokio::spawn(async move { blobs.stage(&at, &key, 0, length, stalled).await })
        };
        place.has_come(&at, MIB as u64).await;
        let busy = place.blobs.stage(&at, &key, 0, length, whole(&bytes)).await;
        assert_eq!(busy, Err(StageError::Blob(BlobError::Busy)));
        hanging.abort();
        place.blobs.stage(&at, &key, 0, length, whole(&bytes)).await.unwrap();
        place.blobs.place(&at, &key).await.unwrap();
        assert_eq!(place.contents(&key).await.unwrap(), bytes);
    });
}

/// Bytes that the disk lost are noticed, and a new generation heals them.
#[test]
fn a_torn_file_is_noticed_and_made_anew() {
    files(async |place: Place| {
        let bytes = sample(1, 3 * MIB);
        let torn = place.stage_and_place(1, &bytes).await;
        let file = std::fs::OpenOptions::new().write(true).open(place.path().join(torn.as_str())).unwrap();
        let reading = place.blobs.read(&torn, 0..bytes.len() as u64).await.unwrap();
        file.set_len(MIB as u64 + 5).unwrap();
        let pieces: Vec<_> = reading.collect().await;
        assert!(matches!(pieces.last(), Some(Err(BlobError::Torn { .. }))), "not silently short");
        let shorter = place.blobs.read(&torn, 0..bytes.len() as u64).await.err();
        assert_eq!(shorter, Some(BlobError::Torn { expected: 3 * MIB as u64, found: MIB as u64 + 5 }));
        let healed = place.stage_and_place(2, &bytes).await;
        assert_eq!(place.contents(&healed).await.unwrap(), bytes);
    });
}

#[test]
fn a_discarded_upload_cannot_be_finished_by_its_straggler() {
    files(async |place: Place| {
        let bytes = sample(1, 3 * MIB);
        let (at, key, length) = (staging(1), key_of(&bytes, 1), bytes.len() as u64);
        let (go, wait) = tokio::sync::oneshot::channel::<()>();
        let rest = futures_util::stream::once(async move { wait.await.map(|()| bytes::Bytes::new()) });
        let slow = whole(&bytes).map(|it| Ok(it.unwrap())).chain(rest).boxed();
        let straggler = {
            let (blobs, at, key) = (place.blobs.clone(), at.clone(), key.clone());
            tokio::spawn(async move { blobs.stage(&at, &key, 0, length, slow).await })
        };
        place.has_come(&at, MIB as u64).await;
        place.blobs.discard(&at, &key, None).await.unwrap();
        go.send(()).unwrap();
        assert_eq!(straggler.await.unwrap(), Err(StageError::Blob(BlobError::NotFound)));
        assert_eq!(place.leftovers().len(), 0);
    });
}
