//! Execution: what durably happened under one lease (seed 001). `COMMITTED` is the only door for effects.

machine! {
    /// What durably happened under one lease; the source of truth for a job's state.
    execution {
        states {
            /// A runner owns the lease.
            Leased = "LEASED",
            /// The runner started.
            InProgress = "IN_PROGRESS",
            /// The logical effect is applied, once per job.
            Committed = "COMMITTED",
            /// Finished after the commit.
            Done = "DONE",
            /// Ended before the commit; nothing happened.
            Aborted = "ABORTED",
        }
        rests {}
        events { Start, Commit, Finish, Abort }
        rows {
            Leased + Start => InProgress by Orchestrator,
            InProgress + Commit => Committed by Orchestrator,
            Committed + Finish => Done by Orchestrator,
            Leased | InProgress + Abort => Aborted by Orchestrator,
        }
    }
}

impl State {
    /// The effect has happened and can no longer be taken back.
    pub fn has_committed(self) -> bool {
        matches!(self, State::Committed | State::Done)
    }
}
