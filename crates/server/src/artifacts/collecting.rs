//! What the API asks of the collector.

use futures_util::future::BoxFuture;
use wire::CollectionId;
use wire::api::CollectionView;

use crate::perform::Failure;

pub trait Collects: Send + Sync + 'static {
    /// A collection that runs now: a new one, or the one that ran already.
    fn request(&self, dry_run: bool) -> BoxFuture<'_, Result<CollectionView, Failure>>;

    fn find(&self, id: CollectionId) -> BoxFuture<'_, Result<Option<CollectionView>, Failure>>;
}
