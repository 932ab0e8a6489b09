//! Report: the outside world knows, or cannot be told.

use machines::run;

use crate::Draft;
use crate::records::Run;

/// `SUCCESS | FAILED | CANCELED | TIMEOUT → REPORTED`.
pub fn report(draft: &mut Draft<'_>, run: &mut Run, cause: &'static str) {
    draft.advance(run, run::Event::Report, cause);
    run.updated_at = draft.now;
}
