//! Workflow: what the reconciler sees of a workflow it started (seed 004, sub-states). Observed, never moved by us.

machine! {
    /// The sub-state of a tenant's workflow, as its provider reports it.
    workflow derived yes {
        states {
            /// Making progress.
            Running = "running",
            /// Waits for something outside; not an error.
            Waiting = "waiting",
            /// Failing and trying again; a changed configuration restarts it.
            BackingOff = "backing-off",
            /// Finished well.
            Succeeded = "succeeded",
            /// Finished badly.
            Failed = "failed",
        }
        rests {}
        events { Wait, Resume, BackOff, Finish, Fail }
        rows {
            Running + Wait => Waiting by Workflow
                ext "seed 004 names the sub-states, not the steps between them",
            Waiting | BackingOff + Resume => Running by Workflow
                ext "seed 004 names the sub-states, not the steps between them",
            Running | Waiting + BackOff => BackingOff by Workflow
                ext "seed 004 names the sub-states, not the steps between them",
            Running + Finish => Succeeded by Workflow
                ext "seed 004 names the sub-states, not the steps between them",
            Running | Waiting | BackingOff + Fail => Failed by Workflow
                ext "seed 004 names the sub-states, not the steps between them",
        }
    }
}
