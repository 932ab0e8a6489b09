//! URLs that a bucket takes from whoever holds them: for one part, for a while, and for nothing else.

use std::time::Duration;

use hyper::StatusCode;
use store::{BlobError, Blobs, BlobsOpenError, StageError};

use crate::blobs::bucket::{Bucket, fetch, send};
use crate::blobs::places::{MIB, Place, bucket, key_of, sample, staging, whole};
use crate::stores::block_on;

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_url_holds_for_its_part_only() {
    bucket(async |place: Place| {
        let bytes = sample(1, MIB);
        let key = key_of(&bytes, 1);
        let multipart = place.blobs.begin_parts(&staging(1), &key).await.unwrap().unwrap();
        let url = place.blobs.part_url(&key, &multipart, 1, MINUTE).await.unwrap().unwrap();
        assert_eq!(send(&url, bytes.clone()).await.0, StatusCode::OK);
        for changed in [
            url.replace("partNumber=1", "partNumber=2"),
            url.replace(&multipart, "00000000-0000-4000-8000-000000000000"),
            format!("{}{}", &url[..url.len() - 4], "beef"),
            url.replace("X-Amz-Expires=60", "X-Amz-Expires=600"),
            url.split_once('?').unwrap().0.to_owned(),
        ] {
            assert_eq!(send(&changed, bytes.clone()).await.0, StatusCode::FORBIDDEN, "{changed}");
        }
        assert_eq!(fetch(&url).await.0, StatusCode::FORBIDDEN, "nor does it read");
        assert_eq!(place.blobs.length(&key).await, Ok(None));
    });
}

#[test]
fn a_url_expires() {
    bucket(async |place: Place| {
        let bytes = sample(1, 1_000);
        let key = key_of(&bytes, 1);
        let multipart = place.blobs.begin_parts(&staging(1), &key).await.unwrap().unwrap();
        let second = Duration::from_secs(1);
        let url = place.blobs.part_url(&key, &multipart, 1, second).await.unwrap().unwrap();
        tokio::time::sleep(3 * second).await;
        assert_eq!(send(&url, bytes).await.0, StatusCode::FORBIDDEN);
    });
}

/// A URL may outlive its upload; it must not open what was verified.
#[test]
fn a_url_opens_nothing_after_its_upload() {
    bucket(async |place: Place| {
        let bytes = sample(1, MIB);
        let (at, key) = (staging(1), key_of(&bytes, 1));
        let multipart = place.blobs.begin_parts(&at, &key).await.unwrap().unwrap();
        let url = place.blobs.part_url(&key, &multipart, 1, MINUTE).await.unwrap().unwrap();
        let etag = send(&url, bytes.clone()).await.1.unwrap();
        let parts = [store::Part { number: 1, etag }];
        place.blobs.join(&at, &key, Some(&multipart), &parts).await.unwrap();
        assert_ne!(send(&url, sample(2, MIB)).await.0, StatusCode::OK);
        assert_eq!(place.contents(&key).await.unwrap(), bytes);
    });
}

#[test]
fn a_bucket_is_not_resumed_and_takes_parts_by_url_only() {
    bucket(async |place: Place| {
        let bytes = sample(1, 10);
        let (at, key) = (staging(1), key_of(&bytes, 1));
        let resumed = place.blobs.stage(&at, &key, 5, 10, whole(&bytes)).await;
        assert_eq!(resumed, Err(StageError::Blob(BlobError::Gap { staged: 0 })));
        let part = place.blobs.write_part(&at, 1, 10, whole(&bytes)).await;
        assert!(matches!(part, Err(StageError::Blob(BlobError::Unavailable(_)))));
    });
}

#[test]
fn what_cannot_be_opened_says_so() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let bucket = Bucket::serve(folder.path()).await;
        let open = async |address: &str, variables| Blobs::open_with(address, variables).await.unwrap_err();
        let wrong_key = open("s3://artifacts", bucket.variables_with("wrong")).await;
        assert!(matches!(wrong_key, BlobsOpenError::Unreachable(_)), "{wrong_key}");
        let no_bucket = open("s3://elsewhere", bucket.variables()).await;
        assert!(matches!(no_bucket, BlobsOpenError::Unreachable(_)), "{no_bucket}");
        for address in ["", "gs://artifacts", "s3://"] {
            let wrong = open(address, bucket.variables()).await;
            assert!(matches!(wrong, BlobsOpenError::Address(_)), "{address}: {wrong}");
        }
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let no_folder = open(file.to_str().unwrap(), Vec::new()).await;
        assert!(matches!(no_folder, BlobsOpenError::Unreachable(_)), "{no_folder}");
    });
}
