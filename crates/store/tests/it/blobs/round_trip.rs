//! What goes in comes out, whole and in ranges; what is not what its key says never shows.

use bytes::Bytes;
use futures_util::StreamExt;
use store::{BlobError, StageError};

use crate::blobs::places::{MIB, Place, digest_of, key_of, on_places, read, sample, staging, whole};

on_places![
    any_length_comes_back,
    ranges_are_exact,
    a_small_body_goes_in_one_go,
    a_small_body_without_a_name_leaves_no_trace,
    too_long_a_stream_leaves_nothing_to_place,
    too_short_a_stream_is_not_the_blob,
    other_bytes_than_promised_never_show,
    what_is_not_there_is_not_found,
    a_stream_may_be_handed_to_a_task,
];

async fn any_length_comes_back(place: Place) {
    let lengths = [0, 1, 60_001, MIB - 1, MIB, MIB + 1, 8 * MIB, 20 * MIB + 7];
    for (number, length) in (1..).zip(lengths) {
        let bytes = sample(number as u64, length);
        let key = place.stage_and_place(number, &bytes).await;
        assert_eq!(place.blobs.length(&key).await, Ok(Some(length as u64)));
        assert_eq!(place.contents(&key).await.unwrap(), bytes, "{length} bytes");
    }
    assert_eq!(place.leftovers().len(), lengths.len(), "nothing else is left");
}

async fn ranges_are_exact(place: Place) {
    let bytes = sample(1, 3 * MIB + 5);
    let key = place.stage_and_place(1, &bytes).await;
    let end = bytes.len() as u64;
    let mib = MIB as u64;
    for range in
        [0..1, 0..end, 1..2, 5..5, mib - 1..mib + 1, mib..2 * mib, 7..end - 1, end - 1..end, end..end]
    {
        let found = read(&place.blobs, &key, range.clone()).await.unwrap();
        assert_eq!(found, bytes[range.start as usize..range.end as usize], "{range:?}");
    }
    let torn = read(&place.blobs, &key, 0..end + 1).await;
    assert_eq!(torn, Err(BlobError::Torn { expected: end + 1, found: end }));
}

async fn a_small_body_goes_in_one_go(place: Place) {
    for (number, length) in [(1, 0), (2, 1), (3, 16_384), (4, 100_000)] {
        let bytes = sample(number, length);
        let key = key_of(&bytes, number.into());
        for _ in 0..2 {
            let staged = place.blobs.put(&key, bytes.clone()).await.unwrap();
            assert_eq!((staged.digest, staged.length), (digest_of(&bytes), length as u64));
        }
        assert_eq!(place.contents(&key).await.unwrap(), bytes);
    }
    let (promised, other) = (key_of(b"promised", 9), Bytes::from_static(b"other"));
    let staged = place.blobs.put(&promised, other.clone()).await.unwrap();
    assert_eq!(staged.digest, digest_of(&other));
    assert_eq!(place.blobs.length(&promised).await, Ok(None));
    assert_eq!(place.leftovers().len(), 4);
}

async fn a_small_body_without_a_name_leaves_no_trace(place: Place) {
    let bytes = sample(1, 16_384);
    let digest = digest_of(&bytes);
    drop(place.blobs.write(digest, bytes.clone()).await.unwrap());
    assert_eq!(place.leftovers().len(), 0);
    let key = key_of(&bytes, 1);
    for _ in 0..2 {
        let written = place.blobs.write(digest, bytes.clone()).await.unwrap();
        place.blobs.name(&key, written).await.unwrap();
        assert_eq!(place.contents(&key).await.unwrap(), bytes);
    }
    assert_eq!(place.leftovers().len(), 1);
}

async fn too_long_a_stream_leaves_nothing_to_place(place: Place) {
    for length in [1, 100, 9 * MIB] {
        let bytes = sample(1, length);
        let (at, key) = (staging(1), key_of(&bytes, 1));
        let promised = length as u64 - 1;
        let staged = place.blobs.stage(&at, &key, 0, promised, whole(&bytes)).await;
        assert_eq!(staged, Err(StageError::Blob(BlobError::TooLong { expected: promised })));
        assert_eq!(place.blobs.staged(&at).await, Ok(0));
        assert_eq!(place.blobs.place(&at, &key).await, Err(BlobError::NotFound));
        place.blobs.discard(&at, &key, None).await.unwrap();
        assert_eq!(place.leftovers().len(), 0);
    }
}

async fn too_short_a_stream_is_not_the_blob(place: Place) {
    for length in [1, 100, 9 * MIB] {
        let bytes = sample(1, length);
        let (at, key) = (staging(1), key_of(&bytes, 1));
        let short = bytes.slice(..length - 1);
        let staged = place.blobs.stage(&at, &key, 0, length as u64, whole(&short)).await.unwrap();
        assert_eq!((staged.digest, staged.length), (digest_of(&short), length as u64 - 1));
        assert_eq!(place.blobs.place(&at, &key).await, Err(BlobError::NotFound));
        place.blobs.discard(&at, &key, None).await.unwrap();
        assert_eq!(place.leftovers().len(), 0);
    }
}

async fn other_bytes_than_promised_never_show(place: Place) {
    for length in [10, 9 * MIB] {
        let (promised, other) = (sample(1, length), sample(2, length));
        let (at, key) = (staging(1), key_of(&promised, 1));
        let staged = place.blobs.stage(&at, &key, 0, length as u64, whole(&other)).await.unwrap();
        assert_eq!(staged.digest, digest_of(&other));
        assert_eq!(place.blobs.length(&key).await, Ok(None));
        assert_eq!(place.blobs.place(&at, &key).await, Err(BlobError::NotFound));
        // Sent again as promised, by the same upload.
        place.stage_and_place(1, &promised).await;
        assert_eq!(place.contents(&key).await.unwrap(), promised);
        place.blobs.delete(&key).await.unwrap();
    }
}

async fn what_is_not_there_is_not_found(place: Place) {
    let key = key_of(b"nothing", 1);
    assert_eq!(place.blobs.length(&key).await, Ok(None));
    assert_eq!(read(&place.blobs, &key, 0..1).await, Err(BlobError::NotFound));
    assert_eq!(read(&place.blobs, &key, 0..0).await, Err(BlobError::NotFound));
    assert_eq!(place.blobs.place(&staging(1), &key).await, Err(BlobError::NotFound));
    assert_eq!(place.blobs.staged(&staging(1)).await, Ok(0));
    assert_eq!(place.blobs.parts(&staging(1)).await, Ok(vec![]));
    assert_eq!(place.blobs.keys(None, 10).await, Ok(vec![]));
}

/// Handlers run on any worker, and a reader may go away in the middle.
async fn a_stream_may_be_handed_to_a_task(place: Place) {
    let bytes = sample(1, 5 * MIB);
    let (blobs, at, key) = (place.blobs.clone(), staging(1), key_of(&bytes, 1));
    let task = tokio::spawn(async move {
        blobs.stage(&at, &key, 0, bytes.len() as u64, whole(&bytes)).await.unwrap();
        blobs.place(&at, &key).await.unwrap();
        let mut reading = blobs.read(&key, 0..bytes.len() as u64).await.unwrap();
        let piece = reading.next().await.unwrap().unwrap();
        assert_eq!(piece, bytes[..piece.len()]);
        // Some readers ask once more after the end.
        let mut reading = blobs.read(&key, 0..3 * MIB as u64).await.unwrap();
        while reading.next().await.is_some() {}
        assert_eq!(reading.next().await, None);
    });
    task.await.unwrap();
}
