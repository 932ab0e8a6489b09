//! Run: one evaluation of a trigger, from its record to its last outward status (seed 000).

machine! {
    /// One CI evaluation of a trigger, made of jobs.
    run {
        states {
            /// Recorded; planning has not begun.
            Created = "CREATED",
            /// The planner is at work.
            Planning = "PLANNING",
            /// The planner failed or never answered.
            PlanFailed = "PLAN_FAILED",
            /// Jobs exist; none has been leased yet.
            Queued = "QUEUED",
            /// At least one attempt is or was active.
            Running = "RUNNING",
            /// A cancel is durable; jobs may still be active.
            CancelRequested = "CANCEL_REQUESTED",
            /// Every required job succeeded.
            Success = "SUCCESS",
            /// Planning failed, or a required job did for good.
            Failed = "FAILED",
            /// Cancelled before completion.
            Canceled = "CANCELED",
            /// Ran longer than it may; reported as failed.
            Timeout = "TIMEOUT",
            /// The outside world has been told.
            Reported = "REPORTED",
        }
        rests {}
        events {
            StartPlanning, AcceptPlan, FailPlan, FinalizePlanFailure, FirstJobActive, AllRequiredSucceeded,
            RequiredJobFailed, RequestCancel, FinishCancel, TimeOut, Report,
        }
        rows {
            Created + StartPlanning => Planning by Orchestrator,
            Planning + AcceptPlan => Queued by Orchestrator,
            Planning + FailPlan => PlanFailed by Orchestrator,
            PlanFailed + FinalizePlanFailure => Failed by Orchestrator,
            Queued + FirstJobActive => Running by Orchestrator,
            Running + AllRequiredSucceeded => Success by Orchestrator,
            Queued + AllRequiredSucceeded => Success by Orchestrator
                ext "a plan with nothing to run has succeeded; it still lists every skipped job",
            Running + RequiredJobFailed => Failed by Orchestrator,
            Queued + RequiredJobFailed => Failed by Orchestrator
                ext "a required job was cancelled on its own before anything ran",
            CancelRequested + RequiredJobFailed => Failed by Orchestrator
                ext "a cancel that comes after a required failure does not hide it",
            Queued | Running + RequestCancel => CancelRequested by Orchestrator,
            Created | Planning + RequestCancel => CancelRequested by Orchestrator
                ext "a run may be cancelled before it has a plan",
            CancelRequested + FinishCancel => Canceled by Orchestrator,
            Running + TimeOut => Timeout by Orchestrator,
            Queued + TimeOut => Timeout by Orchestrator
                ext "a run that no runner ever takes must end too",
            Success | Failed | Canceled | Timeout + Report => Reported by StatusReporter,
        }
    }
}
