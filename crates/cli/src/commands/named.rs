//! What an id on the command line names.

use anyhow::Result;
use wire::{ExecId, MessageId, TenantId};

use crate::output::usage;

pub enum Named {
    Run(String),
    Job(String),
}

impl Named {
    /// Jobs may have ids that their submitters chose, so whatever is none of our other kinds is a job's.
    pub fn parse(id: &str) -> Result<Named> {
        let is_other =
            id.parse::<ExecId>().is_ok() || id.parse::<MessageId>().is_ok() || id.parse::<TenantId>().is_ok();
        if is_other {
            return Err(usage(format!("`{id}` is neither a run nor a job; try `deltaci explain {id}`")));
        }
        if id.is_empty() {
            return Err(usage("expected the id of a run or a job"));
        }
        Ok(if id.starts_with("run_") { Named::Run(id.into()) } else { Named::Job(id.into()) })
    }
}
