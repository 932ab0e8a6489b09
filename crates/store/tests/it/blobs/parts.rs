//! Uploads in parts: through us into files, by signed URL into a bucket.

use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use store::{BlobError, BlobKey, Part, StageError, Staged};

use crate::blobs::bucket::send;
use crate::blobs::places::{
    Broke, MIB, Place, broken, digest_of, files, key_of, on_places, sample, staging, whole,
};

on_places![
    parts_in_any_order_make_the_whole,
    a_part_sent_twice_counts_as_it_came_last,
    a_missing_part_joins_nothing,
    joining_twice_is_joining_once,
    parts_of_other_bytes_are_told_and_not_kept,
];

/// As small as a bucket takes them, the last one smaller.
pub fn parts_of(bytes: &Bytes) -> Vec<Bytes> {
    const PART: usize = 5 * MIB;
    (0..bytes.len()).step_by(PART).map(|at| bytes.slice(at..bytes.len().min(at + PART))).collect()
}

async fn send_part(
    place: &Place,
    key: &BlobKey,
    multipart: Option<&str>,
    number: u32,
    bytes: &Bytes,
) -> String {
    let multipart = multipart.unwrap_or_default();
    let url = place.blobs.part_url(key, multipart, number, Duration::from_secs(60)).await.unwrap();
    match url {
        Some(url) => {
            let (status, etag) = send(&url, bytes.clone()).await;
            assert_eq!(status, StatusCode::OK, "{url}");
            etag.unwrap()
        }
        None => place.blobs.write_part(&staging(1), number, bytes.len() as u64, whole(bytes)).await.unwrap(),
    }
}

/// Sends the parts of these numbers in this order; returns them by number.
pub async fn send_parts(
    place: &Place,
    key: &BlobKey,
    multipart: Option<&str>,
    parts: &[Bytes],
    order: &[u32],
) -> Vec<Part> {
    let mut sent = Vec::new();
    for &number in order {
        let etag = send_part(place, key, multipart, number, &parts[number as usize - 1]).await;
        sent.push(Part { number, etag });
    }
    sent.sort_by_key(|part| part.number);
    sent
}

async fn parts_in_any_order_make_the_whole(place: Place) {
    let bytes = sample(1, 17 * MIB + 3);
    let (at, key, length) = (staging(1), key_of(&bytes, 1), bytes.len() as u64);
    let multipart = place.blobs.begin_parts(&at, &key).await.unwrap();
    assert_eq!(multipart.is_some(), place.is_bucket());
    let parts = send_parts(&place, &key, multipart.as_deref(), &parts_of(&bytes), &[3, 1, 4, 2]).await;
    if !place.is_bucket() {
        let here = place.blobs.parts(&at).await.unwrap();
        assert_eq!(here.iter().map(|part| part.length).sum::<u64>(), length);
        let here: Vec<_> = here.into_iter().map(|it| Part { number: it.number, etag: it.etag }).collect();
        assert_eq!(here, parts);
    }
    assert_eq!(place.blobs.length(&key).await, Ok(None), "nothing shows before it is joined");
    let joined = place.blobs.join(&at, &key, multipart.as_deref(), &parts).await;
    assert_eq!(joined, Ok(Staged { digest: digest_of(&bytes), length }));
    place.blobs.place(&at, &key).await.unwrap();
    assert_eq!(place.contents(&key).await.unwrap(), bytes);
    assert_eq!(place.leftovers().len(), 1);
}

async fn a_part_sent_twice_counts_as_it_came_last(place: Place) {
    let bytes = sample(1, 11 * MIB);
    let (at, key) = (staging(1), key_of(&bytes, 1));
    let multipart = place.blobs.begin_parts(&at, &key).await.unwrap();
    send_part(&place, &key, multipart.as_deref(), 2, &sample(2, 5 * MIB)).await;
    let parts = send_parts(&place, &key, multipart.as_deref(), &parts_of(&bytes), &[2, 1, 2, 3, 1]).await;
    let parts: Vec<_> = [0, 2, 4].map(|index| parts[index].clone()).into();
    if !place.is_bucket() {
        assert_eq!(place.blobs.parts(&at).await.unwrap().len(), 3);
    }
    let joined = place.blobs.join(&at, &key, multipart.as_deref(), &parts).await.unwrap();
    assert_eq!(joined.digest, digest_of(&bytes));
    place.blobs.place(&at, &key).await.unwrap();
    assert_eq!(place.contents(&key).await.unwrap(), bytes);
}

async fn a_missing_part_joins_nothing(place: Place) {
    let bytes = sample(1, 11 * MIB);
    let (at, key) = (staging(1), key_of(&bytes, 1));
    let multipart = place.blobs.begin_parts(&at, &key).await.unwrap();
    let mut parts = send_parts(&place, &key, multipart.as_deref(), &parts_of(&bytes), &[1, 3]).await;
    let gap = place.blobs.join(&at, &key, multipart.as_deref(), &parts).await;
    assert_eq!(gap, Err(BlobError::PartMissing { number: 2 }));
    let none = place.blobs.join(&at, &key, multipart.as_deref(), &[]).await;
    if place.is_bucket() {
        assert_eq!(none, Err(BlobError::PartMissing { number: 1 }));
    }
    parts.insert(1, Part { number: 2, etag: "0123456789abcdef0123456789abcdef".into() });
    let invented = place.blobs.join(&at, &key, multipart.as_deref(), &parts).await.unwrap_err();
    let refused = matches!(invented, BlobError::PartMissing { number: 2 } | BlobError::PartsRefused(_));
    assert!(refused, "{invented:?}");
    assert_eq!(place.blobs.length(&key).await, Ok(None));
    assert_eq!(place.blobs.place(&at, &key).await, Err(BlobError::NotFound));
}

async fn joining_twice_is_joining_once(place: Place) {
    let bytes = sample(1, 6 * MIB);
    let (at, key) = (staging(1), key_of(&bytes, 1));
    let multipart = place.blobs.begin_parts(&at, &key).await.unwrap();
    let parts = send_parts(&place, &key, multipart.as_deref(), &parts_of(&bytes), &[1, 2]).await;
    let expected = Ok(Staged { digest: digest_of(&bytes), length: bytes.len() as u64 });
    for _ in 0..2 {
        assert_eq!(place.blobs.join(&at, &key, multipart.as_deref(), &parts).await, expected);
    }
    place.blobs.place(&at, &key).await.unwrap();
    assert_eq!(place.blobs.join(&at, &key, multipart.as_deref(), &parts).await, expected);
    place.blobs.place(&at, &key).await.unwrap();
    assert_eq!(place.contents(&key).await.unwrap(), bytes);
}

async fn parts_of_other_bytes_are_told_and_not_kept(place: Place) {
    let (promised, other) = (sample(1, 6 * MIB), sample(2, 6 * MIB));
    let (at, key) = (staging(1), key_of(&promised, 1));
    let multipart = place.blobs.begin_parts(&at, &key).await.unwrap();
    let parts = send_parts(&place, &key, multipart.as_deref(), &parts_of(&other), &[1, 2]).await;
    let joined = place.blobs.join(&at, &key, multipart.as_deref(), &parts).await.unwrap();
    assert_eq!(joined.digest, digest_of(&other));
    assert_eq!(place.blobs.length(&key).await, Ok(None));
    assert_eq!(place.blobs.place(&at, &key).await, Err(BlobError::NotFound));
}

#[test]
fn a_part_is_all_of_it_or_nothing() {
    files(async |place: Place| {
        let bytes = sample(1, 2 * MIB);
        let (at, length) = (staging(1), bytes.len() as u64);
        let short = place.blobs.write_part(&at, 1, length + 1, whole(&bytes)).await;
        assert_eq!(short, Err(BlobError::TooShort { expected: length + 1, found: length }.into()));
        let long = place.blobs.write_part(&at, 1, length - 1, whole(&bytes)).await;
        assert_eq!(long, Err(BlobError::TooLong { expected: length - 1 }.into()));
        let broke = place.blobs.write_part(&at, 1, length, broken(&bytes)).await;
        assert_eq!(broke, Err(StageError::Stream(Broke)));
        assert_eq!(place.blobs.parts(&at).await, Ok(vec![]));
        assert_eq!(place.leftovers().len(), 0);
    });
}

#[test]
fn an_etag_leads_nowhere_else() {
    files(async |place: Place| {
        let parts = [Part { number: 1, etag: "../../../../etc/hostname".into() }];
        let joined = place.blobs.join(&staging(1), &key_of(b"x", 1), None, &parts).await;
        assert_eq!(joined, Err(BlobError::PartMissing { number: 1 }));
    });
}
