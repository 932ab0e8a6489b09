//! What an id on the command line names.

use anyhow::Result;

use crate::output::usage;

pub enum Named {
    Run(String),
    Job(String),
}

impl Named {
    /// Jobs may have ids that their submitters chose, so whatever is none of our other kinds is a job's.
    pub fn parse(id: &str) -> Result<Named> {
        let kind = id.split_once('_').map_or("", |(kind, _)| kind);
        match kind {
            "run" => Ok(Named::Run(id.into())),
            "exec" | "msg" | "ten" | "tok" => {
                Err(usage(format!("`{id}` is neither a run nor a job; try `deltaci explain {id}`")))
            }
            _ if id.is_empty() => Err(usage("expected the id of a run or a job")),
            _ => Ok(Named::Job(id.into())),
        }
    }
}
