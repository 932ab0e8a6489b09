//! Job: what a user sees of a unit of work (seed 001). Derived from attempts and executions; nothing moves it by hand.

machine! {
    /// A unit of work, as its attempts and executions make it look.
    job derived yes {
        states {
            /// Not leased now.
            Pending = "PENDING",
            /// Leased by some execution.
            Running = "RUNNING",
            /// Some execution is done after its commit.
            Succeeded = "SUCCEEDED",
            /// The latest attempt failed and none follows.
            Failed = "FAILED",
            /// Cancelled before any commit.
            Canceled = "CANCELED",
        }
        rests { Failed, Canceled }
        events { LeaseGranted, LeaseLost, ExecutionDone, FailedForGood, CancelFinished, Retry }
        rows {
            Pending + LeaseGranted => Running by Orchestrator,
            Running + LeaseLost => Pending by Orchestrator,
            Running + ExecutionDone => Succeeded by Orchestrator,
            Running + FailedForGood => Failed by Orchestrator,
            Pending | Running + CancelFinished => Canceled by Orchestrator
                ext "seed 000 resolves a job as cancelled; seed 001 does not name the state",
            Running + Retry => Pending by Orchestrator
                ext "a retryable failure queues a new attempt in the same commit",
            Failed | Canceled + Retry => Pending by Orchestrator
                ext "a person may ask for one more attempt",
        }
    }
}

impl State {
    /// Some row leads from here to there: what is derived may move by no other.
    pub fn leads_to(self, to: State) -> bool {
        Self::EVENTS.iter().any(|event| self.next(*event) == Ok(to))
    }

    /// No attempt of the job is open.
    pub fn is_over(self) -> bool {
        matches!(self, State::Succeeded | State::Failed | State::Canceled)
    }
}
