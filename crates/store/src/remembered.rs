//! Records that a process wrote last, kept in memory up to a bound. Whether they still hold is for each store to know.

use std::collections::HashMap;
use std::hash::Hash;

/// Of each kind; at the limit the kind starts over, which costs a few reads and keeps memory flat.
const RECORDS_MAX: usize = 16_384;

/// Larger specifications are read again.
pub const SPEC_BYTES_MAX: usize = 1_024;

#[derive(Debug)]
pub struct Remembered<K, R>(HashMap<K, R>);

impl<K, R> Default for Remembered<K, R> {
    fn default() -> Remembered<K, R> {
        Remembered(HashMap::new())
    }
}

impl<K: Eq + Hash, R> Remembered<K, R> {
    pub fn get(&self, key: &K) -> Option<&R> {
        self.0.get(key)
    }

    pub fn keep(&mut self, key: K, record: R) {
        if self.0.len() >= RECORDS_MAX {
            self.0.clear();
        }
        self.0.insert(key, record);
    }

    pub fn forget(&mut self, key: &K) {
        self.0.remove(key);
    }
}
