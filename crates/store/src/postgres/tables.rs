//! A record's table: its columns, and the statements that follow from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use decisions::Book;
use decisions::book::Kept;
use decisions::records::{
    self, Attempt, AttemptKey, Blob, Bundle, Cache, CacheName, Collection, Collector, Delivery, Execution,
    Group, GroupId, Job, Log, Possession, PossessionKey, Run, Runner, RunnerKey, Tenant, Token, Upload,
    Usage, Webhook, WebhookKey,
};
use tokio_postgres::Row;
use wire::{BlobId, CollectionId, ExecId, JobId, MessageId, RunId, TenantId, TokenId, UploadId, VersionId};

use crate::StoreError;
use crate::postgres::round::Param;
use crate::postgres::rows::{Cells, Version};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Names the row.
    Key,
    /// Written once.
    Fixed,
    /// May change.
    Moving,
}

pub struct Column {
    pub name: &'static str,
    pub sql_type: &'static str,
    pub kind: Kind,
}

/// A record that has a table. Declared with `table!`.
pub trait Table: Kept {
    const NAME: &'static str;
    const COLUMNS: &'static [Column];

    fn sql() -> &'static Sql;
    /// An array for each column whose kind is picked, with an element for each record.
    fn arrays<'a>(records: &[&'a Self], picked: fn(Kind) -> bool) -> Vec<Param<'a>>;
    fn read(cells: &mut Cells<'_>) -> Result<Self, StoreError>;
    /// Nothing differs that an update would not write.
    fn differs_in_moving_only(&self, before: &Self) -> bool;
}

macro_rules! table {
    ($record:ty, $name:literal, |$it:ident| { $( $kind:ident $column:ident: $sql_type:literal = $value:expr; )+ }
     |$cells:ident| $read:expr) => {
        impl Table for $record {
            const NAME: &'static str = $name;
            const COLUMNS: &'static [Column] = &[
                $( Column { name: stringify!($column), sql_type: $sql_type, kind: Kind::$kind }, )+
            ];

            fn sql() -> &'static Sql {
                static SQL: LazyLock<Sql> = LazyLock::new(Sql::of::<$record>);
                &SQL
            }

            fn arrays<'a>(records: &[&'a $record], picked: fn(Kind) -> bool) -> Vec<Param<'a>> {
                let mut arrays: Vec<Param<'a>> = Vec::with_capacity(Self::COLUMNS.len());
                $( if picked(Kind::$kind) {
                    let array: Vec<_> = records.iter().map(|$it: &&'a $record| $value).collect();
                    arrays.push(Box::new(array));
                } )+
                arrays
            }

            fn read($cells: &mut Cells<'_>) -> Result<$record, StoreError> {
                $read
            }

            fn differs_in_moving_only(&self, before: &$record) -> bool {
                true $( && (Kind::$kind == Kind::Moving || {
                    let now = { let $it = self; $value };
                    let before = { let $it = before; $value };
                    now == before
                }) )+
            }
        }
    };
}
pub(super) use table;

/// A statement in two forms, which take the same arrays and do the same.
pub struct Forms {
    few: String,
    many: String,
}

/// Up to here it is cheaper to look an element up by its place in each array, though that walks over the texts before it,
/// than to spread all arrays out first, which costs a third of a microsecond for each element.
const FEW: usize = 128;

impl Forms {
    pub fn of(statement: impl Fn(&str) -> String, arrays: &Arrays) -> Forms {
        Forms { few: statement(&arrays.by_place()), many: statement(&arrays.spread_out()) }
    }

    pub fn for_rows(&self, rows: usize) -> &str {
        if rows <= FEW { &self.few } else { &self.many }
    }
}

/// The first parameters of a statement, arrays of one length: what their elements are called, and their types.
pub struct Arrays(pub Vec<(&'static str, &'static str)>);

impl Arrays {
    fn of<R: Table>(picked: fn(Kind) -> bool) -> Arrays {
        let columns = R::COLUMNS.iter().filter(|column| picked(column.kind));
        Arrays(columns.map(|column| (column.name, column.sql_type)).collect())
    }

    fn and(mut self, name: &'static str, sql_type: &'static str) -> Arrays {
        self.0.push((name, sql_type));
        self
    }

    fn names(&self) -> String {
        self.0.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    /// A table `u`, with a row for each place in the arrays, in their order. The planner takes it for a short one, as it does
    /// any array that it does not know.
    fn by_place(&self) -> String {
        let by_place =
            |(at, (name, kind)): (usize, &(&str, &str))| format!("(${at}::{kind}[])[first.place] AS {name}");
        let (name, kind) = self.0[0];
        let others = (2..).zip(&self.0[1..]).map(by_place).collect::<Vec<_>>();
        let cells = [vec![format!("first.value AS {name}")], others].concat().join(", ");
        format!("(SELECT {cells} FROM unnest($1::{kind}[]) WITH ORDINALITY AS first (value, place)) AS u")
    }

    /// The same table.
    fn spread_out(&self) -> String {
        let arrays = (1..).zip(&self.0).map(|(at, (_, kind))| format!("${at}::{kind}[]"));
        format!("unnest({}) AS u ({})", arrays.collect::<Vec<_>>().join(", "), self.names())
    }
}

/// The statements of one table.
pub struct Sql {
    pub insert: Forms,
    /// Changes the rows, in the order given, or fails if one has not the version given.
    pub update: Forms,
    /// Changes rows that this transaction has made.
    pub fill: String,
    /// Locks rows that will be written, or only read, in the order given, or fails if one has not the version given.
    pub lock_for_writing: String,
    pub lock_for_reading: String,
}

impl Sql {
    /// Inserts records with one more column, which their table has and they have not.
    pub fn insert_with<R: Table>(name: &'static str, sql_type: &'static str) -> Forms {
        inserts::<R>(Arrays::of::<R>(|_| true).and(name, sql_type))
    }

    /// Rows are always found from the list, one by one through the index of the key, however small a table was when the
    /// plan was made. Locks get there by a lateral query that cannot be merged into the rest; updates by an `ANY`, which
    /// an index can look up, but no join can be turned around on.
    pub fn of<R: Table>() -> Sql {
        let table = R::NAME;
        let assigned =
            list::<R>(|kind| kind == Kind::Moving, |Column { name, .. }| format!("{name} = u.{name}"));
        let same_key = on_key::<R>(|name| format!("t.{name} = ANY (ARRAY[u.{name}])"));
        let lock = |strength: &str| {
            let arrays = Arrays::of::<R>(|kind| kind == Kind::Key).and("version", "integer");
            let locked = format!(
                "SELECT FROM {} CROSS JOIN LATERAL (
                     SELECT t.xmin AS version FROM {table} t WHERE {} {strength}) x
                 WHERE x.version = u.version",
                arrays.spread_out(),
                on_key::<R>(|name| format!("t.{name} = u.{name}")),
            );
            or_moved(table, arrays.0[0].1, &locked)
        };
        let changed = Arrays::of::<R>(|kind| kind != Kind::Fixed).and("version", "integer");
        Sql {
            insert: inserts::<R>(Arrays::of::<R>(|_| true)),
            update: Forms::of(
                |u| {
                    let updated = format!(
                        "UPDATE {table} AS t SET {assigned} FROM {u} WHERE {same_key} AND t.xmin = u.version RETURNING 1"
                    );
                    or_moved(table, changed.0[0].1, &updated)
                },
                &changed,
            ),
            fill: format!(
                "UPDATE {table} AS t SET {assigned} FROM {} WHERE {same_key}",
                Arrays::of::<R>(|kind| kind != Kind::Fixed).spread_out(),
            ),
            lock_for_writing: lock("FOR NO KEY UPDATE"),
            lock_for_reading: lock("FOR SHARE"),
        }
    }
}

/// A statement that fails unless what it finds is as many rows as its first array, of this type, has elements.
pub fn or_moved(table: &str, first: &str, found: &str) -> String {
    format!(
        "WITH found AS ({found}) SELECT refuse_moved('{table}', count(*), cardinality($1::{first}[])) FROM found"
    )
}

fn inserts<R: Table>(arrays: Arrays) -> Forms {
    let names = arrays.names();
    Forms::of(|u| format!("INSERT INTO {} ({names}) SELECT {names} FROM {u}", R::NAME), &arrays)
}

/// The comparisons of all columns of the key.
fn on_key<R: Table>(compared: fn(&str) -> String) -> String {
    let keys = R::COLUMNS.iter().filter(|column| column.kind == Kind::Key);
    keys.map(|column| compared(column.name)).collect::<Vec<_>>().join(" AND ")
}

fn list<R: Table>(picked: fn(Kind) -> bool, text: impl Fn(&Column) -> String) -> String {
    let columns = R::COLUMNS.iter().filter(|column| picked(column.kind));
    columns.map(text).collect::<Vec<_>>().join(", ")
}

/// What to select so that [`seen`] can read it: the version and all columns, of a table that the query calls `alias`.
pub fn selected<R: Table>(alias: &str) -> String {
    format!("{alias}.xmin AS version, {}", list::<R>(|_| true, |column| format!("{alias}.{}", column.name)))
}

/// The cells of [`selected`].
pub fn width<R: Table>() -> usize {
    R::COLUMNS.len() + 1
}

/// Reads the cells of [`selected`].
pub fn seen<R: Table>(cells: &mut Cells<'_>) -> Result<(Version, Arc<R>), StoreError> {
    Ok((cells.next()?, Arc::new(R::read(cells)?)))
}

/// A record alone in its row.
pub fn record<R: Table>(row: &Row) -> Result<R, StoreError> {
    let mut cells = Cells::of(row);
    let _: Version = cells.next()?;
    R::read(&mut cells)
}

/// The versions of the records in a book, as they were loaded.
#[derive(Debug, Default)]
pub struct Versions {
    tenants: BTreeMap<TenantId, Version>,
    runs: BTreeMap<RunId, Version>,
    jobs: BTreeMap<JobId, Version>,
    attempts: BTreeMap<AttemptKey, Version>,
    executions: BTreeMap<ExecId, Version>,
    runners: BTreeMap<RunnerKey, Version>,
    deliveries: BTreeMap<MessageId, Version>,
    webhooks: BTreeMap<WebhookKey, Version>,
    tokens: BTreeMap<TokenId, Version>,
    logs: BTreeMap<ExecId, Version>,
    uploads: BTreeMap<UploadId, Version>,
    blobs: BTreeMap<BlobId, Version>,
    possessions: BTreeMap<PossessionKey, Version>,
    usages: BTreeMap<TenantId, Version>,
    releases: BTreeMap<VersionId, Version>,
    bundles: BTreeMap<ExecId, Version>,
    caches: BTreeMap<CacheName, Version>,
    collections: BTreeMap<CollectionId, Version>,
    collector: BTreeMap<(), Version>,
    groups: BTreeMap<GroupId, Version>,
}

/// A table whose rows are loaded and may be changed.
pub trait Versioned: Table {
    fn versions(versions: &Versions) -> &BTreeMap<Self::Key, Version>;
    fn versions_mut(versions: &mut Versions) -> &mut BTreeMap<Self::Key, Version>;
}

macro_rules! versioned {
    ($($record:ty, $field:ident;)+) => {$(
        impl Versioned for $record {
            fn versions(versions: &Versions) -> &BTreeMap<Self::Key, Version> { &versions.$field }
            fn versions_mut(versions: &mut Versions) -> &mut BTreeMap<Self::Key, Version> { &mut versions.$field }
        }
    )+};
}
versioned! {
    Tenant, tenants;
    Run, runs;
    Job, jobs;
    Attempt, attempts;
    Execution, executions;
    Runner, runners;
    Delivery, deliveries;
    Webhook, webhooks;
    Token, tokens;
    Log, logs;
    Upload, uploads;
    Blob, blobs;
    Possession, possessions;
    Usage, usages;
    records::Version, releases;
    Bundle, bundles;
    Cache, caches;
    Collection, collections;
    Collector, collector;
    Group, groups;
}

impl Versions {
    /// Puts a record into the book and remembers its version.
    pub fn bring<R: Versioned>(&mut self, book: &mut Book, (version, record): (Version, Arc<R>)) {
        R::versions_mut(self).entry(record.key()).or_insert(version);
        R::shelf_mut(book).bring(record);
    }
}
