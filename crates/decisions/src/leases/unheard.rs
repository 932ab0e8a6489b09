//! A lease that was taken away while its runner had time left. The runner may not have heard of it: the answer to its
//! acknowledgement or to a heartbeat may still be on its way, and by its own clock it may begin or go on until its TTL is
//! over. So what follows is not queued before that moment. Nothing it says is believed meanwhile; this is about what it does.

use machines::{attempt, lease};
use wire::Time;

use crate::Draft;
use crate::jobs::enqueue;
use crate::records::{Attempt, AttemptKey, Execution, Job};

const CAUSE: &str = "the time of the lease that was taken away is over";

/// Of an execution whose lease just ended: when a tick must look at it once more, if it must.
pub fn begin(draft: &mut Draft<'_>, execution: &Execution) -> Option<Time> {
    let taken_away = execution.lease.get() == lease::State::Revoked && execution.started_at.is_some();
    if !taken_away || execution.status.get().has_committed() || execution.expires_at <= draft.now {
        return None;
    }
    let mut job: Job = draft.copy(&execution.job());
    job.free_at = Some(execution.expires_at);
    draft.put(job);
    Some(execution.expires_at)
}

/// Its time is over: an attempt that waited for it is queued.
pub fn end(draft: &mut Draft<'_>, mut execution: Execution) {
    let mut job: Job = draft.copy(&execution.job());
    let mut attempt: Attempt = draft.copy(&AttemptKey { job: job.id, index: job.attempts });
    execution.due_at = None;
    draft.put(execution);
    if job.free_at.is_some_and(|at| at > draft.now) {
        return; // one that came later was taken away too, and is looked at in its turn
    }
    if attempt.state.get() == attempt::State::Created && job.needs_open == 0 {
        enqueue(draft, &mut attempt, CAUSE);
        attempt.explanation = String::new();
        draft.put(attempt);
    }
    job.free_at = None;
    draft.put(job);
}

/// For a person who asks why nothing happens.
pub fn wait_until(free_at: Time) -> String {
    format!(
        "waits until {free_at}: the attempt before it was stopped by force, and its runner, which may not have heard of \
         it, stops by itself at that time"
    )
}
