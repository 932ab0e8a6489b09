//! Records that a process wrote last, kept in memory up to a bound. Whether they still hold is for each store to know.

use std::collections::HashMap;
use std::hash::Hash;

use decisions::records::{Attempt, Execution, Job, Log, Run, Runner, Tenant, Upload};
use foldhash::fast::RandomState;
use machines::Machine;

/// Of each kind; at the limit the kind starts over, which costs a few reads and keeps memory flat.
const RECORDS_MAX: usize = 16_384;

/// Larger specifications are read again.
pub const SPEC_BYTES_MAX: usize = 1_024;

#[derive(Debug)]
pub struct Remembered<K, R>(HashMap<K, R, RandomState>);

impl<K, R> Default for Remembered<K, R> {
    fn default() -> Remembered<K, R> {
        Remembered(HashMap::default())
    }
}

/// A kind of record that is remembered.
pub trait Memorable {
    /// It will hardly be asked for again: remembering it costs more than reading it then.
    fn is_over(&self) -> bool;
}

macro_rules! memorable {
    ($($record:ty, |$it:ident| $is_over:expr;)+) => {$(
        impl Memorable for $record {
            fn is_over(&self) -> bool { let $it = self; $is_over }
        }
    )+};
}

memorable! {
    Tenant, |_it| false;
    Run, |_it| false;
    Job, |it| it.state.is_final();
    Attempt, |it| it.finished_at.is_some();
    Execution, |it| it.status.get().is_final();
    Runner, |_it| false;
    Log, |_it| false;
    Upload, |_it| false;
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
