//! Concurrency groups: the row where runs meet, and the runs that are not over.

use decisions::book::Shelf;
use decisions::policy::CHUNK;
use decisions::records::{Group, GroupId};
use rusqlite::{Connection, params};
use wire::RunId;

use crate::sqlite::load::Loader;
use crate::sqlite::rows::{self, stored};

pub fn group(connection: &Connection, id: GroupId) -> rusqlite::Result<Option<Group>> {
    let sql = "SELECT id, tenant_id, joined, newest FROM run_groups WHERE id = ?1";
    rows::one(connection, sql, [id.0.as_slice()], |row| {
        Ok(Group {
            id: GroupId(row.get(0)?),
            tenant: rows::id(row, 1)?,
            joined: rows::count(row, 2)?,
            newest: rows::maybe_id(row, 3)?,
        })
    })
}

/// The group that a run is filed under, by the column that is made from others: a wrong one shows.
pub fn group_of(connection: &Connection, run: RunId) -> rusqlite::Result<Option<Group>> {
    let sql = "SELECT group_id FROM runs WHERE id = ?1";
    let id = rows::one(connection, sql, [run.text().as_str()], |row| row.get::<_, Option<[u8; 32]>>(0))?;
    id.flatten().map_or(Ok(None), |id| group(connection, GroupId(id)))
}

pub fn write(connection: &Connection, groups: &Shelf<Group>) -> rusqlite::Result<()> {
    groups.writes().try_for_each(|(before, it)| {
        let sql = match before {
            None => "INSERT INTO run_groups (id, tenant_id, joined, newest) VALUES (?1, ?2, ?3, ?4)",
            Some(_) => "UPDATE run_groups SET joined = ?3, newest = ?4 WHERE id = ?1 AND tenant_id = ?2",
        };
        let (tenant, newest) = (it.tenant.text(), it.newest.map(|id| id.to_string()));
        let params = params![it.id.0, tenant.as_str(), stored(it.joined), newest];
        connection.prepare_cached(sql)?.execute(params)?;
        Ok(())
    })
}

impl Loader<'_> {
    pub fn group(&mut self, id: GroupId) -> rusqlite::Result<()> {
        if let Some(group) = group(self.connection, id)? {
            self.book.groups.bring(group);
        }
        let sql = "SELECT id FROM runs WHERE group_id = ?1 AND finished_at IS NULL ORDER BY id DESC LIMIT ?2";
        let newest: Vec<RunId> =
            rows::all(self.connection, sql, params![id.0.as_slice(), CHUNK as i64], rows::read_id)?;
        newest.iter().try_for_each(|run| self.run(*run))?;
        self.book.group_runs.insert(id, newest.into_iter().collect());
        Ok(())
    }

    pub fn group_of(&mut self, id: RunId, name: Option<&str>) -> rusqlite::Result<()> {
        self.run(id)?;
        let group = self.book.runs.peek(&id).and_then(|run| run.group_named(name));
        group.map_or(Ok(()), |group| self.group(group))
    }
}
