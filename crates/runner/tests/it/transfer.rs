//! One file on its way, against a store that breaks off, forgets and lies.

use std::fs::{self, File};
use std::path::Path;

use runner::client::{Client, Token};
use runner::transfer::{Source, SourceError, UploadError, Uploads};

use crate::depot::{Depot, Fault};

const LARGE: usize = 9_000_000;

fn file(folder: &Path, bytes: usize) -> File {
    let path = folder.join("file");
    let content: Vec<u8> = (0..bytes).map(|at| (at / 7 % 251) as u8).collect();
    fs::write(&path, content).unwrap();
    File::open(path).unwrap()
}

fn source(folder: &Path, bytes: usize) -> Source {
    Source::read(file(folder, bytes), |_| true).unwrap()
}

async fn uploads(depot: &Depot) -> Uploads {
    let address = depot.start().await;
    let token = Token::parse("t").unwrap();
    Uploads::new(Client::new(&format!("http://{address}"), &token).unwrap(), "default")
}

#[tokio::test]
async fn every_size_arrives() {
    let folder = tempfile::tempdir().unwrap();
    let depot = Depot::default();
    let uploads = uploads(&depot).await;
    for bytes in [0, 1, 262_144, 262_145, 8_388_608, 8_388_609, LARGE] {
        let source = source(folder.path(), bytes);
        let uploaded = uploads.put(&source, &()).await.unwrap();
        assert_eq!((uploaded.view.length, uploaded.deduplicated), (bytes as u64, false));
        assert_eq!(depot.with(|depot| depot.blobs[&source.digest().to_string()].len()), bytes);
    }
    assert_eq!(depot.count("start"), 2, "only large files need a session");
    let again = uploads.put(&source(folder.path(), LARGE), &()).await.unwrap();
    assert!(again.deduplicated);
}

#[tokio::test]
async fn a_session_that_was_forgotten_or_aborted_is_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let depot = Depot::default();
    let uploads = uploads(&depot).await;
    depot.fault("content", [Fault::Cut(1_000_000)]);
    depot.fault("look", [Fault::Status(500)]);
    let cleared = depot.clone();
    let forget = tokio::spawn(async move {
        while cleared.count("look") == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        cleared.with(|depot| depot.uploads.clear());
    });
    uploads.put(&source(folder.path(), LARGE), &()).await.unwrap();
    forget.await.unwrap();
    assert_eq!(depot.count("start"), 2);
}

#[tokio::test]
async fn a_file_that_changes_does_not_arrive() {
    let folder = tempfile::tempdir().unwrap();
    let depot = Depot::default();
    let uploads = uploads(&depot).await;
    let source = source(folder.path(), LARGE);
    let changed = File::options().write(true).open(folder.path().join("file")).unwrap();
    changed.set_len(LARGE as u64 - 1).unwrap();
    assert_eq!(uploads.put(&source, &()).await.unwrap_err(), UploadError::Changed);
    changed.set_len(LARGE as u64).unwrap();
    assert_eq!(uploads.put(&source, &()).await.unwrap_err(), UploadError::Changed);
    assert!(depot.with(|depot| depot.blobs.is_empty()));
}

#[test]
fn a_file_that_grows_while_it_is_hashed_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let held = file(folder.path(), 600_000);
    let path = folder.path().join("file");
    let read = Source::read(held, |_| {
        let grown = File::options().append(true).open(&path).unwrap();
        grown.set_len(700_000).unwrap();
        true
    });
    assert!(matches!(read, Err(SourceError::Changed)), "{read:?}");
    let stopped = Source::read(file(folder.path(), 600_000), |_| false);
    assert!(matches!(stopped, Err(SourceError::Stopped)), "{stopped:?}");
}

#[tokio::test]
async fn what_the_server_does_not_want_is_not_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let depot = Depot::default();
    let uploads = uploads(&depot).await;
    for status in [401, 403, 404, 413, 507] {
        depot.fault("put-blob", [Fault::Status(status)]);
        let error = uploads.put(&source(folder.path(), 5), &()).await.unwrap_err();
        assert!(matches!(error, UploadError::Refused { status: said, .. } if said == status), "{error:?}");
    }
    assert_eq!(depot.count("put-blob"), 5);
}
