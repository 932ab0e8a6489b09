//! Random commands, plausible and not, on two stores at once: the same answers, the same records, a sound log, and an
//! end for every run.
//!
//! Memory is the reference. A failing case is kept in `property.regressions` and tried first the next time.

mod generate;
mod twin;
mod world;

use std::future::Future;

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};

use crate::stores::block_on;
use generate::{Step, steps};
use twin::{Place, PostgresPlace, SqlitePlace, Twin};

const SQLITE_CASES: u32 = 64;
const POSTGRES_CASES: u32 = 12;

fn config(cases: u32) -> Config {
    let regressions = FileFailurePersistence::Direct("tests/it/property.regressions");
    Config {
        cases,
        failure_persistence: Some(Box::new(regressions)),
        max_shrink_iters: 2_000,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config(SQLITE_CASES))]

    #[test]
    fn memory_and_sqlite_agree_and_stay_sound(steps in steps()) {
        check(async { SqlitePlace::make() }, steps, true);
    }
}

proptest! {
    #![proptest_config(config(POSTGRES_CASES))]

    /// PostgreSQL tells its own time, which the reference then follows; deadlines are far away, or passed at once.
    #[test]
    fn memory_and_postgres_agree_and_stay_sound(steps in steps()) {
        check(PostgresPlace::make(), steps, false);
    }
}

/// How often the stores are compared on the way.
const STEPS_BETWEEN_LOOKS: usize = 5;

fn check<P: Place>(place: impl Future<Output = P>, steps: Vec<Step>, may_move_time: bool) {
    block_on(async {
        let mut twin = Twin::at(place.await, may_move_time).await;
        for (number, step) in steps.iter().enumerate() {
            twin.take(step).await;
            if number % STEPS_BETWEEN_LOOKS == 0 {
                twin.compare().await;
            }
        }
        twin.compare().await;
        if may_move_time {
            twin.settle().await;
            twin.compare().await;
        }
        twin.leave().await;
    });
}
