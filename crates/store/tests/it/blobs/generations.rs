//! Generations: the same content any number of times at once, none touching another; a key is written once.

use futures_util::future::join_all;
use store::BlobError;

use crate::blobs::places::{MIB, Place, key_of, on_places, sample, staging, whole};

on_places![
    the_same_content_at_once_in_many_generations,
    placing_again_changes_nothing,
    a_deleted_blob_comes_back_as_another_generation,
    keys_are_listed_in_order_and_in_pages,
];

async fn the_same_content_at_once_in_many_generations(place: Place) {
    let bytes = sample(1, 2 * MIB);
    let keys = join_all((1..=8).map(|number| place.stage_and_place(number, &bytes))).await;
    for key in &keys {
        assert_eq!(place.contents(key).await.unwrap(), bytes);
    }
    // The loser's bytes go; the others stay.
    place.blobs.discard(&staging(1), &keys[0], None).await.unwrap();
    assert_eq!(place.blobs.length(&keys[0]).await, Ok(None));
    assert_eq!(place.contents(&keys[1]).await.unwrap(), bytes);
    assert_eq!(place.leftovers().len(), 7);
}

async fn placing_again_changes_nothing(place: Place) {
    let bytes = sample(1, 9 * MIB);
    let key = place.stage_and_place(1, &bytes).await;
    place.blobs.place(&staging(1), &key).await.unwrap();
    // The whole upload again, from its beginning or by another session, onto the same key.
    place.stage_and_place(1, &bytes).await;
    let length = bytes.len() as u64;
    place.blobs.stage(&staging(2), &key, 0, length, whole(&bytes)).await.unwrap();
    place.blobs.place(&staging(2), &key).await.unwrap();
    // Other bytes cannot get there at all.
    let other = sample(2, MIB);
    place.blobs.stage(&staging(3), &key, 0, length, whole(&other)).await.unwrap();
    place.blobs.place(&staging(3), &key).await.unwrap(); // it is there, so it is placed
    assert_eq!(place.blobs.put(&key, other.clone()).await.unwrap().length, MIB as u64);
    assert_eq!(place.contents(&key).await.unwrap(), bytes);
    assert_eq!(place.leftovers().len(), 1);
}

async fn a_deleted_blob_comes_back_as_another_generation(place: Place) {
    let bytes = sample(1, 1_000);
    let first = place.stage_and_place(1, &bytes).await;
    place.blobs.delete(&first).await.unwrap();
    place.blobs.delete(&first).await.unwrap();
    assert_eq!(place.contents(&first).await, Err(BlobError::NotFound));
    let second = place.stage_and_place(2, &bytes).await;
    place.blobs.delete(&first).await.unwrap(); // late, and harmless
    assert_eq!(place.contents(&second).await.unwrap(), bytes);
}

async fn keys_are_listed_in_order_and_in_pages(place: Place) {
    let mut expected = Vec::new();
    for number in 1..=30_u64 {
        let bytes = sample(number, 10);
        let key = key_of(&bytes, number.into());
        place.blobs.put(&key, bytes).await.unwrap();
        expected.push(key.to_string());
    }
    expected.sort();
    assert_eq!(place.blobs.keys(None, 100).await.unwrap(), expected);
    let mut paged: Vec<String> = Vec::new();
    loop {
        let page = place.blobs.keys(paged.last().map(String::as_str), 7).await.unwrap();
        assert!(page.len() <= 7);
        if page.is_empty() {
            break;
        }
        paged.extend(page);
    }
    assert_eq!(paged, expected);
}
