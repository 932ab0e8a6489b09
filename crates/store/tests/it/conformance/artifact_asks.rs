//! Load: each ask about artifacts is answered with what it names, whole, and with nothing when there is nothing.

use decisions::book::{Kept, Shelf};
use decisions::records::{Blob, PossessionKey};
use decisions::{Ask, Book};
use store::{Sqlite, Store};
use wire::TenantId;

use crate::commands::exec_id;
use crate::desk::Desk;
use crate::forged::artifacts::{
    artifact_world, bare_blob, bare_upload, blob_id, digest, gc_id, name, only, possession, put, upload_id,
    version_id,
};
use crate::forged::{at, some_tenant, some_webhook};
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    what_does_not_exist_is_not_in_the_book,
    an_upload_comes_with_its_content_and_its_tenant,
    content_is_what_the_tenant_has_and_what_is_here,
    content_that_was_claimed_is_not_here,
    a_version_comes_with_the_blobs_of_its_entries,
    a_blob_comes_with_whoever_possesses_it,
    a_bundle_comes_with_its_blobs,
    the_collector_comes_with_what_runs,
    all_asks_at_once_agree_with_each_alone,
]);

on_stores!(sqlite => [uploads_see_what_is_on_its_way]);

fn ours() -> TenantId {
    TenantId::from_u128(50)
}

fn keys<R: Kept>(shelf: &Shelf<R>) -> Vec<R::Key> {
    shelf.peek_all().map(Kept::key).collect()
}

fn all_asks(tenant: TenantId, number: u128) -> Vec<Ask> {
    vec![
        Ask::Upload(upload_id(number)),
        Ask::Content(tenant, digest(number as u8)),
        Ask::Usage(tenant),
        Ask::VersionName(name(tenant, "p", &number.to_string())),
        Ask::Version(version_id(number)),
        Ask::Blob(blob_id(number)),
        Ask::Bundle(exec_id(number)),
        Ask::Collector,
        Ask::Collection(gc_id(number)),
    ]
}

/// Everything about artifacts that is in a book.
#[derive(Debug, PartialEq)]
struct Seen {
    counts: [usize; 8],
    indexes: [usize; 3],
}

fn seen(book: &Book) -> Seen {
    Seen {
        counts: [
            keys(&book.uploads).len(),
            keys(&book.blobs).len(),
            keys(&book.possessions).len(),
            keys(&book.usages).len(),
            keys(&book.versions).len(),
            keys(&book.bundles).len(),
            keys(&book.collections).len(),
            keys(&book.collector).len(),
        ],
        indexes: [book.blobs_here.len(), book.version_names.len(), book.possessors.len()],
    }
}

async fn what_does_not_exist_is_not_in_the_book<S: Store>(desk: Desk<S>) {
    let nothing = Seen { counts: [0; 8], indexes: [0; 3] };
    for ask in all_asks(ours(), 50) {
        assert_eq!(seen(&desk.book(std::slice::from_ref(&ask)).await), nothing, "{ask:?}");
    }
    desk.forge(artifact_world()).await.unwrap();
    let elsewhere = all_asks(TenantId::from_u128(7), 7);
    for ask in elsewhere.iter().filter(|ask| **ask != Ask::Collector) {
        let book = desk.book(std::slice::from_ref(ask)).await;
        assert_eq!(seen(&book), nothing, "{ask:?}");
        assert!(book.is_unchanged());
    }
}

async fn an_upload_comes_with_its_content_and_its_tenant<S: Store>(desk: Desk<S>) {
    let mut world = artifact_world();
    put(&mut world, [some_webhook(ours())]);
    desk.forge(world.clone()).await.unwrap();
    let book = desk.book(&[Ask::Upload(upload_id(50))]).await;
    assert_eq!(keys(&book.uploads), [upload_id(50)]);
    assert_eq!(keys(&book.tenants), [ours()]);
    assert_eq!(keys(&book.webhooks).len(), 1);
    assert_eq!(keys(&book.possessions), [PossessionKey { tenant: ours(), digest: digest(50) }]);
    assert_eq!(book.blobs.peek_all().collect::<Vec<_>>(), [&world.blobs[&blob_id(50)]]);
    assert_eq!(book.blobs_here.get(&digest(50)), Some(&blob_id(50)));
    assert!(keys(&book.usages).is_empty());
    // Of bytes that nobody has brought.
    desk.forge(only([bare_upload(60, ours())])).await.unwrap();
    let book = desk.book(&[Ask::Upload(upload_id(60))]).await;
    assert_eq!(seen(&book), Seen { counts: [1, 0, 0, 0, 0, 0, 0, 0], indexes: [0; 3] });
}

async fn content_is_what_the_tenant_has_and_what_is_here<S: Store>(desk: Desk<S>) {
    let mut world = artifact_world();
    let other = some_tenant(7);
    put(&mut world, [other.clone()]);
    desk.forge(world).await.unwrap();
    let book = desk.book(&[Ask::Content(other.id, digest(50))]).await;
    assert!(keys(&book.possessions).is_empty(), "knowing a digest is not having it");
    assert_eq!(
        (keys(&book.blobs), book.blobs_here.len()),
        (vec![blob_id(50)], 1),
        "but it need not come twice"
    );
    let book = desk.book(&[Ask::Content(ours(), digest(50))]).await;
    assert_eq!((keys(&book.possessions).len(), keys(&book.blobs)), (1, vec![blob_id(50)]));
}

async fn content_that_was_claimed_is_not_here<S: Store>(desk: Desk<S>) {
    desk.forge(artifact_world()).await.unwrap();
    let claimed = Blob { claimed_by: Some(gc_id(50)), ..bare_blob(51) };
    desk.forge_after(&[Ask::Blob(blob_id(51))], only([claimed.clone()])).await.unwrap();
    let content = [Ask::Content(ours(), digest(51))];
    let book = desk.book(&content).await;
    assert_eq!((book.blobs_here.len(), keys(&book.possessions).len()), (0, 1));
    assert_eq!(book.blobs.peek_all().collect::<Vec<_>>(), [&claimed], "what the possession names");
    // Brought anew: another generation, which the possession follows.
    let newer = Blob { id: blob_id(52), ..bare_blob(51) };
    let mut changes = only([newer.clone()]);
    put(&mut changes, [possession(ours(), &newer)]);
    desk.forge_after(&content, changes).await.unwrap();
    let book = desk.book(&content).await;
    assert_eq!(book.blobs_here.get(&digest(51)), Some(&blob_id(52)));
    assert_eq!(keys(&book.blobs), [blob_id(52)]);
    assert_eq!(desk.book(&[Ask::Blob(blob_id(51))]).await.possessors[&blob_id(51)].len(), 0);
}

async fn a_version_comes_with_the_blobs_of_its_entries<S: Store>(desk: Desk<S>) {
    let mut world = artifact_world();
    put(&mut world, [some_webhook(ours())]);
    desk.forge(world.clone()).await.unwrap();
    let named = name(ours(), "p", "50");
    let by_name = desk.book(&[Ask::VersionName(named.clone())]).await;
    let by_id = desk.book(&[Ask::Version(version_id(50))]).await;
    for book in [&by_name, &by_id] {
        assert_eq!(book.versions.peek_all().collect::<Vec<_>>(), [&world.versions[&version_id(50)]]);
        assert_eq!(book.blobs.peek_all().collect::<Vec<_>>(), [&world.blobs[&blob_id(50)]]);
        assert_eq!(keys(&book.webhooks).len(), 1);
    }
    assert_eq!(by_name.version_names.get(&named), Some(&version_id(50)));
    for other in [name(ours(), "p", "5"), name(ours(), "P", "50"), name(TenantId::from_u128(7), "p", "50")] {
        assert!(desk.book(&[Ask::VersionName(other)]).await.version_names.is_empty());
    }
}

async fn a_blob_comes_with_whoever_possesses_it<S: Store>(desk: Desk<S>) {
    let mut world = artifact_world();
    let other = some_tenant(7);
    put(&mut world, [possession(other.id, &bare_blob(51))]); // of a tenant without a usage
    put(&mut world, [other.clone()]);
    put(&mut world, [bare_blob(60)]);
    desk.forge(world).await.unwrap();
    let book = desk.book(&[Ask::Blob(blob_id(51))]).await;
    assert_eq!(keys(&book.blobs), [blob_id(51)]);
    assert_eq!(book.possessors[&blob_id(51)].iter().copied().collect::<Vec<_>>(), [other.id, ours()]);
    assert_eq!(keys(&book.usages), [ours()]);
    let book = desk.book(&[Ask::Blob(blob_id(60))]).await;
    assert!(book.possessors[&blob_id(60)].is_empty());
}

async fn a_bundle_comes_with_its_blobs<S: Store>(desk: Desk<S>) {
    let world = artifact_world();
    desk.forge(world.clone()).await.unwrap();
    let book = desk.book(&[Ask::Bundle(exec_id(50))]).await;
    assert_eq!(book.bundles.peek_all().collect::<Vec<_>>(), [&world.bundles[&exec_id(50)]]);
    assert_eq!(keys(&book.blobs), [blob_id(50)]);
}

async fn the_collector_comes_with_what_runs<S: Store>(desk: Desk<S>) {
    let world = artifact_world();
    desk.forge(world.clone()).await.unwrap();
    let book = desk.book(&[Ask::Collector]).await;
    assert_eq!(book.collector.peek(&()), world.collector.get(&()));
    assert_eq!(book.collections.peek_all().collect::<Vec<_>>(), [&world.collections[&gc_id(50)]]);
    let idle = decisions::records::Collector { epoch: 4, running: None };
    desk.forge_after(&[Ask::Collector], only([idle])).await.unwrap();
    assert!(keys(&desk.book(&[Ask::Collector]).await.collections).is_empty());
}

async fn all_asks_at_once_agree_with_each_alone<S: Store>(desk: Desk<S>) {
    desk.forge(artifact_world()).await.unwrap();
    let mut asks = all_asks(ours(), 50);
    asks.extend([Ask::Content(ours(), digest(51)), Ask::Blob(blob_id(51))]);
    let book = desk.book(&asks).await;
    assert_eq!(seen(&book), Seen { counts: [1, 2, 2, 1, 1, 1, 1, 1], indexes: [2, 1, 2] });
    for ask in &asks {
        let alone = desk.book(std::slice::from_ref(ask)).await;
        assert!(alone.blobs.peek_all().all(|blob| book.blobs.peek(&blob.id) == Some(blob)), "{ask:?}");
        assert!(alone.blobs_here.iter().all(|(digest, id)| book.blobs_here.get(digest) == Some(id)));
    }
}

/// Each batch is decided while the ones before it may still be on their way to the disk: it claims the bytes that the one
/// before brought, and brings them anew.
async fn uploads_see_what_is_on_its_way(desk: Desk<Sqlite>) {
    const BATCHES: u128 = 300;
    desk.forge(only([some_tenant(50)])).await.unwrap();
    let same = |number| Blob { id: blob_id(number), digest: digest(1), ..bare_blob(number) };
    let mut saves = Vec::new();
    for number in 1..=BATCHES {
        let asks = [Ask::Upload(upload_id(number - 1)), Ask::Content(ours(), digest(1)), Ask::Usage(ours())];
        let mut loaded = desk.load(&asks).await;
        let mut changes = only([same(number)]);
        if number > 1 {
            let book = &loaded.book;
            assert_eq!(book.blobs_here.get(&digest(1)), Some(&blob_id(number - 1)));
            assert_eq!(keys(&book.blobs), [blob_id(number - 1)]);
            assert_eq!(keys(&book.uploads), [upload_id(number - 1)]);
            assert_eq!(book.usages.peek(&ours()).map(|usage| usage.blobs), Some(number as u64 - 1));
            put(&mut changes, [Blob { claimed_by: Some(gc_id(1)), updated_at: at(9), ..same(number - 1) }]);
        }
        put(&mut changes, [possession(ours(), &same(number))]);
        put(&mut changes, [decisions::records::Upload { digest: digest(1), ..bare_upload(number, ours()) }]);
        put(&mut changes, [decisions::records::Usage { tenant: ours(), bytes: 0, blobs: number as u64 }]);
        loaded.book.apply(changes);
        let store = desk.store.clone();
        saves.push(tokio::spawn(async move { store.save(loaded.session, loaded.book).await }));
        tokio::task::yield_now().await; // the save is handed in, not written
    }
    for save in saves {
        save.await.unwrap().unwrap();
    }
    assert_eq!(desk.store.blob_of(ours(), digest(1)).await, Ok(Some(same(BATCHES))));
    assert_eq!(desk.store.blobs_unreferenced(None, 1_000).await.unwrap().len(), BATCHES as usize);
}
