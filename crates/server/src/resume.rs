//! A server's time at its start: on from what the store knows, and what is to be said about it.

use std::time::Duration;

use store::{Anchor, Kept, Store, StoreError, Timekeeping};

use crate::clock::{Clock, Reading};
use crate::serve::Duty;

/// Beyond this, somebody should hear that the wall clock shows another time.
const WALL_DIFFERENCE_MAX: Duration = Duration::from_secs(60);

/// Whoever only answers leaves no trace.
pub async fn clock<S: Store>(store: &S, lease_ttl: Duration, duty: Duty) -> Result<Clock, StoreError> {
    let time = store.timekeeping().await?;
    let reading = Reading::take();
    let (mut clock, offered) = Clock::resume(&reading, &time, lease_ttl);
    if duty == Duty::AnswerOnly {
        return Ok(clock);
    }
    if let (Some(offered), Timekeeping::Process(found)) = (offered, &time)
        && let Some(theirs) = keep(store, found, &offered).await
    {
        clock = Clock::resume(&reading, &Timekeeping::Process(theirs), lease_ttl).0;
    }
    tell(&clock, &reading);
    Ok(clock)
}

/// What another process kept, if one was faster.
async fn keep<S: Store>(store: &S, found: &Kept, offered: &Anchor) -> Option<Kept> {
    match store.keep_anchor(found.anchor.as_ref(), offered).await {
        Ok(kept) if kept == *offered => None,
        Ok(theirs) => Some(Kept { anchor: Some(theirs), ..found.clone() }),
        Err(error) => {
            tracing::warn!(%error, "where the time stands cannot be kept: the next start goes by the wall clock");
            None
        }
    }
}

fn tell(clock: &Clock, reading: &Reading) {
    let (ours, wall) = (clock.at(reading.uptime), reading.wall);
    if ours.since(wall).max(wall.since(ours)) > WALL_DIFFERENCE_MAX {
        tracing::warn!(%ours, %wall, "the wall clock shows another time than the records; theirs goes on");
    }
    if let Some(after) = clock.leases_end_after() {
        tracing::info!(%after, "the machine was started anew: leases that lived before end after this at the earliest");
    }
}
