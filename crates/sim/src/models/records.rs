//! The store of a model: records by key, each with the number of times it was written. Records are shared between worlds,
//! because most of them differ in one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decisions::book::{Kept, Shelf};
use decisions::changed::Changed;
use decisions::records::{Attempt, Delivery, Execution, Job, Queue, Run, Runner, Tenant, Webhook};
use decisions::{Book, Changes};
use wire::JobId;

/// One kind of record.
#[derive(Debug, Clone)]
pub struct Table<R: Kept>(BTreeMap<R::Key, (u64, Arc<R>)>);

impl<R: Kept> Default for Table<R> {
    fn default() -> Self {
        Table(BTreeMap::new())
    }
}

impl<R: Kept> Table<R> {
    pub fn get(&self, key: &R::Key) -> Option<&R> {
        self.0.get(key).map(|(_, record)| &**record)
    }

    pub fn all(&self) -> impl Iterator<Item = &R> {
        self.0.values().map(|(_, record)| &**record)
    }

    pub fn bring(&self, key: &R::Key, shelf: &mut Shelf<R>) {
        if let Some((_, record)) = self.0.get(key) {
            shelf.bring(record.clone());
        }
    }

    fn version(&self, key: &R::Key) -> Option<u64> {
        self.0.get(key).map(|(version, _)| *version)
    }

    fn write(&mut self, changed: &Changed<R>) {
        for (key, record) in changed {
            let version = self.version(key).map_or(1, |version| version + 1);
            self.0.insert(key.clone(), (version, Arc::new(record.clone())));
        }
    }

    /// What a decision read or writes, with the versions it rests on.
    fn touched(&self, shelf: &Shelf<R>, changed: &Changed<R>) -> Versions<R> {
        let read = shelf.reads().map(R::key);
        let keys: BTreeSet<R::Key> = read.chain(changed.keys().cloned()).collect();
        keys.into_iter().map(|key| (key.clone(), self.version(&key))).collect()
    }

    fn moved(&self, seen: &Versions<R>) -> bool {
        seen.iter().any(|(key, version)| self.version(key) != *version)
    }
}

type Versions<R> = Vec<(<R as Kept>::Key, Option<u64>)>;

macro_rules! kinds {
    ($($shelf:ident: $record:ty,)+) => {
        /// Everything that is on the disk.
        #[derive(Debug, Clone, Default)]
        pub struct Records {
            $(pub $shelf: Table<$record>,)+
            pub specs: BTreeMap<JobId, Arc<str>>,
            /// (needed, dependent).
            pub needs: BTreeSet<(JobId, JobId)>,
        }

        /// What a decision rests on, by version.
        #[derive(Debug)]
        pub struct Seen { $($shelf: Versions<$record>,)+ }

        impl Records {
            pub fn seen(&self, book: &Book, changes: &Changes) -> Seen {
                Seen { $($shelf: self.$shelf.touched(&book.$shelf, &changes.$shelf),)+ }
            }

            /// Something that the decision rests on is no longer as it was seen.
            pub fn moved_since(&self, seen: &Seen) -> bool {
                $(self.$shelf.moved(&seen.$shelf))||+
            }

            /// All of it or, in another world, nothing.
            pub fn write(&mut self, changes: &Changes) {
                $(self.$shelf.write(&changes.$shelf);)+
                self.specs.extend(changes.appended.specs.iter().cloned());
                self.needs.extend(changes.appended.needs.iter().copied());
            }
        }

        pub fn is_empty(changes: &Changes) -> bool {
            $(changes.$shelf.is_empty())&&+
        }
    };
}

kinds! {
    tenants: Tenant,
    runs: Run,
    jobs: Job,
    attempts: Attempt,
    executions: Execution,
    runners: Runner,
    queues: Queue,
    deliveries: Delivery,
    webhooks: Webhook,
}
