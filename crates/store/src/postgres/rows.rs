//! Reading a row, cell by cell in the order of its columns; and the values that go the other way.

use std::error::Error;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::BytesMut;
use decisions::draft::Stated;
use decisions::failures::{ClassSet, FailureClass};
use decisions::records::{
    AttemptKey, EffectRow, GroupId, Progress, QueueId, ReadyKey, Sweep, TokenKind, Trust,
};
use machines::Machine;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use wire::ids::IdText;
use wire::runner::CompleteStatus;
use wire::{
    BlobId, CacheId, CollectionId, Digest, ExecId, JobId, LeaseHash, MessageId, RunId, RunnerId, TenantId,
    Time, TokenHash, TokenId, UploadId, VersionId,
};

use crate::StoreError;

/// What is left of a row.
pub struct Cells<'r> {
    row: &'r Row,
    at: usize,
}

impl<'r> Cells<'r> {
    pub fn of(row: &'r Row) -> Cells<'r> {
        Cells { row, at: 0 }
    }

    pub fn next<T: Cell>(&mut self) -> Result<T, StoreError> {
        T::read(self)
    }

    /// The next cell as the driver reads it.
    pub fn raw<T: FromSql<'r>>(&mut self) -> Result<T, StoreError> {
        let value = self.row.try_get(self.at).map_err(|error| self.damaged(&error.to_string()))?;
        self.at += 1;
        Ok(value)
    }

    /// The next cell is null.
    pub fn is_null(&self) -> Result<bool, StoreError> {
        let bytes: Option<Bytes> =
            self.row.try_get(self.at).map_err(|error| self.damaged(&error.to_string()))?;
        Ok(bytes.is_none())
    }

    pub fn skip(&mut self, cells: usize) {
        self.at += cells;
    }

    /// The next cell holds an array of ids.
    pub fn ids<I: FromStr>(&mut self) -> Result<Vec<I>, StoreError> {
        let texts: Vec<&str> = self.raw()?;
        let ids: Option<Vec<I>> = texts.iter().map(|text| text.parse().ok()).collect();
        ids.ok_or_else(|| self.damaged("it holds what is no id"))
    }

    /// The next cell holds an array of digests.
    pub fn digests(&mut self) -> Result<Vec<Digest>, StoreError> {
        let all: Vec<&[u8]> = self.raw()?;
        let digests: Option<Vec<Digest>> =
            all.iter().map(|bytes| Some(Digest::from_bytes((*bytes).try_into().ok()?))).collect();
        digests.ok_or_else(|| self.damaged("it holds what is no digest"))
    }

    /// The next cell holds a text that must mean something to us.
    pub fn parsed<T>(&mut self, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, StoreError> {
        let text: &str = self.raw()?;
        parse(text).ok_or_else(|| {
            self.at -= 1;
            self.damaged(&format!("it holds `{text}`"))
        })
    }

    /// Names the row by its key, which is the first cell or stands behind the version.
    fn damaged(&self, problem: &str) -> StoreError {
        let column = self.row.columns().get(self.at).map_or("beyond the last", |column| column.name());
        let key: &str = (0..2).find_map(|at| self.row.try_get(at).ok()).unwrap_or("?");
        StoreError::Violation(format!("a row ({key}) is damaged in column `{column}`: {problem}"))
    }
}

/// Something that stands in one cell.
pub trait Cell: Sized {
    fn read(cells: &mut Cells<'_>) -> Result<Self, StoreError>;
}

/// Cells that the driver reads as they are.
macro_rules! plain {
    ($($cell:ty),+) => {$(
        impl Cell for $cell {
            fn read(cells: &mut Cells<'_>) -> Result<$cell, StoreError> { cells.raw() }
        }
    )+};
}
plain!(String, bool, i32, i64, Version);

/// Texts that must mean something to us.
macro_rules! parsed {
    ($($cell:ty, $parse:expr;)+) => {$(
        impl Cell for $cell {
            fn read(cells: &mut Cells<'_>) -> Result<$cell, StoreError> { cells.parsed($parse) }
        }
    )+};
}
parsed! {
    TenantId, |text| text.parse().ok();
    RunId, |text| text.parse().ok();
    JobId, |text| text.parse().ok();
    ExecId, |text| text.parse().ok();
    MessageId, |text| text.parse().ok();
    TokenId, |text| text.parse().ok();
    UploadId, |text| text.parse().ok();
    BlobId, |text| text.parse().ok();
    VersionId, |text| text.parse().ok();
    CacheId, |text| text.parse().ok();
    CollectionId, |text| text.parse().ok();
    Progress, Progress::parse;
    Trust, Trust::parse;
    TokenKind, TokenKind::parse;
    RunnerId, RunnerId::parse;
    machines::run::State, Machine::parse;
    machines::job::State, Machine::parse;
    Sweep, Sweep::parse;
    FailureClass, FailureClass::parse;
    ClassSet, ClassSet::parse;
    CompleteStatus, parse_complete_status;
    Vec<String>, |text| serde_json::from_str(text).ok();
    Vec<u64>, |text| serde_json::from_str(text).ok();
}

impl<T: Cell> Cell for Option<T> {
    fn read(cells: &mut Cells<'_>) -> Result<Option<T>, StoreError> {
        if cells.is_null()? {
            cells.skip(1);
            return Ok(None);
        }
        T::read(cells).map(Some)
    }
}

impl<M: Machine> Cell for Stated<M> {
    fn read(cells: &mut Cells<'_>) -> Result<Stated<M>, StoreError> {
        cells.parsed(M::parse).map(Stated::stored)
    }
}

impl Cell for u32 {
    fn read(cells: &mut Cells<'_>) -> Result<u32, StoreError> {
        let number: i32 = cells.raw()?;
        u32::try_from(number).map_err(|_| cells.damaged(&format!("{number} is negative")))
    }
}

impl Cell for u64 {
    fn read(cells: &mut Cells<'_>) -> Result<u64, StoreError> {
        let number: i64 = cells.raw()?;
        u64::try_from(number).map_err(|_| cells.damaged(&format!("{number} is negative")))
    }
}

impl Cell for Duration {
    fn read(cells: &mut Cells<'_>) -> Result<Duration, StoreError> {
        cells.raw().map(|micros: i64| Duration::from_micros(micros.unsigned_abs()))
    }
}

impl Cell for Time {
    fn read(cells: &mut Cells<'_>) -> Result<Time, StoreError> {
        let moment: SystemTime = cells.raw()?;
        let micros = |duration: Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Ok(Time::from_micros(match moment.duration_since(UNIX_EPOCH) {
            Ok(after) => micros(after),
            Err(before) => -micros(before.duration()),
        }))
    }
}

impl Cell for QueueId {
    fn read(cells: &mut Cells<'_>) -> Result<QueueId, StoreError> {
        cells.raw().map(QueueId)
    }
}

impl Cell for [u8; 32] {
    fn read(cells: &mut Cells<'_>) -> Result<[u8; 32], StoreError> {
        let bytes: &[u8] = cells.raw()?;
        bytes.try_into().map_err(|_| cells.damaged(&format!("{} bytes instead of 32", bytes.len())))
    }
}

impl Cell for GroupId {
    fn read(cells: &mut Cells<'_>) -> Result<GroupId, StoreError> {
        cells.next().map(GroupId)
    }
}

impl Cell for LeaseHash {
    fn read(cells: &mut Cells<'_>) -> Result<LeaseHash, StoreError> {
        cells.next().map(LeaseHash::from_bytes)
    }
}

impl Cell for TokenHash {
    fn read(cells: &mut Cells<'_>) -> Result<TokenHash, StoreError> {
        cells.next().map(TokenHash::from_bytes)
    }
}

impl Cell for Digest {
    fn read(cells: &mut Cells<'_>) -> Result<Digest, StoreError> {
        cells.next().map(Digest::from_bytes)
    }
}

/// Two cells.
impl Cell for AttemptKey {
    fn read(cells: &mut Cells<'_>) -> Result<AttemptKey, StoreError> {
        Ok(AttemptKey { job: cells.next()?, index: cells.next()? })
    }
}

/// The transaction that wrote a row: as long as it is the same, so is the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version(u32);

impl Version {
    /// As a statement compares it: PostgreSQL takes the same bits as an integer.
    pub fn bits(self) -> i32 {
        self.0.cast_signed()
    }
}

impl<'r> FromSql<'r> for Version {
    fn from_sql(_: &Type, bytes: &'r [u8]) -> Result<Version, Box<dyn Error + Sync + Send>> {
        Ok(Version(u32::from_be_bytes(bytes.try_into()?)))
    }

    fn accepts(found: &Type) -> bool {
        *found == Type::XID
    }
}

/// A cell of any type, to see whether there is something in it.
struct Bytes;

impl<'r> FromSql<'r> for Bytes {
    fn from_sql(_: &Type, _: &'r [u8]) -> Result<Bytes, Box<dyn Error + Sync + Send>> {
        Ok(Bytes)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// An id as the driver writes it: there are several in every row, and none is worth an allocation.
#[derive(Debug, PartialEq)]
pub struct Id(IdText);

pub fn id(id: impl Into<IdText>) -> Id {
    Id(id.into())
}

impl ToSql for Id {
    fn to_sql(&self, as_type: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.0.as_str().to_sql(as_type, out)
    }

    fn accepts(asked: &Type) -> bool {
        <&str as ToSql>::accepts(asked)
    }

    to_sql_checked!();
}

pub const READY_COLUMNS: &str = "queue_id, rank, since, job_id, attempt";

pub fn read_ready(cells: &mut Cells<'_>) -> Result<ReadyKey, StoreError> {
    Ok(ReadyKey { queue: cells.next()?, rank: cells.next()?, since: cells.next()?, attempt: cells.next()? })
}

pub fn read_effect(cells: &mut Cells<'_>) -> Result<EffectRow, StoreError> {
    Ok(EffectRow {
        job: cells.next()?,
        position: cells.next()?,
        execution: cells.next()?,
        kind: cells.parsed(|text| ["result", "webhook"].into_iter().find(|kind| *kind == text))?,
        body: cells.next()?,
    })
}

/// The earliest moment that PostgreSQL and a person both understand: the year 1.
const MICROS_MIN: i64 = -62_135_596_800_000_000;

/// A time as the driver writes it. PostgreSQL's calendar goes beyond the last of ours.
pub fn moment(time: Time) -> SystemTime {
    let micros = time.as_micros().max(MICROS_MIN);
    let distance = Duration::from_micros(micros.unsigned_abs());
    if micros >= 0 { UNIX_EPOCH + distance } else { UNIX_EPOCH - distance }
}

/// A count as PostgreSQL keeps it. None of ours comes near the bound.
pub fn count(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// An offset as PostgreSQL keeps it. No log comes near the bound; a caller may name any.
pub fn long(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Runners that all tenants share are kept under the empty text: a key has no nulls.
pub fn scope(tenant: Option<TenantId>) -> String {
    tenant.map(|tenant| tenant.to_string()).unwrap_or_default()
}

pub fn read_scope(cells: &mut Cells<'_>) -> Result<Option<TenantId>, StoreError> {
    cells.parsed(|text| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) })
}

pub fn complete_status(status: CompleteStatus) -> &'static str {
    match status {
        CompleteStatus::Succeeded => "SUCCEEDED",
        CompleteStatus::Failed => "FAILED",
    }
}

fn parse_complete_status(text: &str) -> Option<CompleteStatus> {
    [CompleteStatus::Succeeded, CompleteStatus::Failed]
        .into_iter()
        .find(|status| complete_status(*status) == text)
}
