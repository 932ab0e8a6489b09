//! Concurrency groups: of the runs of one group that supersedes, the newest goes on. What counts is when a run was
//! triggered, not when its plan came, so the outcome does not depend on which planner was quicker.

use wire::RunId;

use crate::records::{Group, Run};
use crate::runs::cancel::request_cancel;
use crate::{Draft, Refusal};

/// The run has its plan and joins its group, if it has one: older runs give way to it if it asks for that, and it gives
/// way to a newer one that asked for it before.
pub fn join_group(draft: &mut Draft<'_>, id: RunId) -> Result<(), Refusal> {
    let run: &Run = draft.get(&id).expect("it was put just now");
    let (tenant, supersede) = (run.tenant, run.supersede);
    let Some(id_of_group) = run.group_id() else { return Ok(()) };
    // Not asked for: the run did not exist when the batch was loaded, so nobody can have been told of it.
    let members = draft.book().group_runs.get(&id_of_group).ok_or(Refusal::RunNotFound)?;
    let known = draft.get(&id_of_group).cloned();
    let mut group = known.unwrap_or(Group { id: id_of_group, tenant, joined: 0, newest: None });
    let newer = group.newest.filter(|newest| *newest > id);
    group.joined += 1;
    if supersede {
        group.newest = group.newest.max(Some(id));
        members.iter().filter(|member| **member < id).for_each(|older| give_way(draft, *older, id));
    }
    draft.put::<Group>(group);
    if let Some(newer) = newer {
        give_way(draft, id, newer);
    }
    Ok(())
}

fn give_way(draft: &mut Draft<'_>, id: RunId, to: RunId) {
    // Not noted as read: one that is stopping stays so, and the others are written.
    let known = draft.changes.runs.get(&id).or_else(|| draft.book().runs.peek(&id));
    let Some(run) = known.filter(|run| !run.is_stopping()).cloned() else { return };
    request_cancel(draft, run, &format!("superseded by {to}"));
}
