//! What a decision changes of one kind of record, by key.
//!
//! Each record lies on the heap by itself: a tree makes room for eleven of them at once, and most decisions change one.

use std::collections::{BTreeMap, btree_map};
use std::iter::Map;
use std::ops::Index;
use std::sync::Arc;

use crate::book::Kept;

#[derive(Debug, Clone, PartialEq)]
pub struct Changed<R: Kept>(BTreeMap<R::Key, Arc<R>>);

impl<R: Kept> Changed<R> {
    pub fn insert(&mut self, key: R::Key, record: R) {
        self.0.insert(key, Arc::new(record));
    }

    pub fn get(&self, key: &R::Key) -> Option<&R> {
        self.0.get(key).map(|record| &**record)
    }

    pub fn keys(&self) -> impl Iterator<Item = &R::Key> {
        self.0.keys()
    }

    pub fn values(&self) -> impl Iterator<Item = &R> {
        self.0.values().map(|record| &**record)
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut R> {
        self.0.values_mut().map(Arc::make_mut)
    }

    /// For the book, which shares them with the store.
    pub fn into_shared(self) -> impl Iterator<Item = Arc<R>> {
        self.0.into_values()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<R: Kept> Default for Changed<R> {
    fn default() -> Changed<R> {
        Changed(BTreeMap::new())
    }
}

impl<R: Kept> FromIterator<(R::Key, R)> for Changed<R> {
    fn from_iter<I: IntoIterator<Item = (R::Key, R)>>(records: I) -> Changed<R> {
        Changed(records.into_iter().map(|(key, record)| (key, Arc::new(record))).collect())
    }
}

impl<R: Kept, const N: usize> From<[(R::Key, R); N]> for Changed<R> {
    fn from(records: [(R::Key, R); N]) -> Changed<R> {
        records.into_iter().collect()
    }
}

impl<R: Kept> Extend<(R::Key, R)> for Changed<R> {
    fn extend<I: IntoIterator<Item = (R::Key, R)>>(&mut self, records: I) {
        self.0.extend(records.into_iter().map(|(key, record)| (key, Arc::new(record))));
    }
}

impl<R: Kept> Index<&R::Key> for Changed<R> {
    type Output = R;

    fn index(&self, key: &R::Key) -> &R {
        &self.0[key]
    }
}

impl<R: Kept> IntoIterator for Changed<R> {
    type Item = (R::Key, R);
    type IntoIter = Map<btree_map::IntoIter<R::Key, Arc<R>>, fn((R::Key, Arc<R>)) -> (R::Key, R)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(key, record)| (key, Arc::unwrap_or_clone(record)))
    }
}

impl<'a, R: Kept> IntoIterator for &'a Changed<R> {
    type Item = (&'a R::Key, &'a R);
    type IntoIter =
        Map<btree_map::Iter<'a, R::Key, Arc<R>>, fn((&'a R::Key, &'a Arc<R>)) -> (&'a R::Key, &'a R)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(key, record)| (key, &**record))
    }
}
