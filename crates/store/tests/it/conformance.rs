//! What every store promises, checked on each of them: the same tests over memory, SQLite and PostgreSQL.
//!
//! Where time matters, a test gives commands no time (`Duration::ZERO`) or plenty: PostgreSQL reads its own clock.

mod archived;
mod artifact_asks;
mod artifact_finders;
mod artifact_guards;
mod artifact_races;
mod artifact_round_trip;
mod asks;
mod caches;
mod chunks;
mod finders;
mod groups;
mod inline;
mod lanes;
mod lists;
mod log;
mod printed;
mod protection;
mod ready;
mod reuse;
mod round_trip;
mod saving;
mod stories;
mod timekeeping;
mod uniqueness;
