//! What every end of an execution has in common, however its lease ended.

use crate::Draft;
use crate::draft::Hint;
use crate::leases::unheard;
use crate::records::Execution;

/// No deadline of its own is left, and whoever follows the job's log learns that no more of it comes.
pub fn put_ended(draft: &mut Draft<'_>, mut execution: Execution) {
    debug_assert!(!execution.lease.get().is_live());
    execution.due_at = unheard::begin(draft, &execution);
    execution.finished_at = Some(draft.now);
    draft.hint(Hint::Logged(execution.job()));
    draft.put(execution);
}
