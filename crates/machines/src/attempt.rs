//! Attempt: one try at a job (seed 000, "Job State Machine").
//!
//! The seed's row `FAILED | TIMED_OUT -> QUEUED` (retry) is realised as a new attempt that begins at `CREATED`; the old
//! one stays final, so that row is not in this table.

machine! {
    /// One try at a job.
    attempt {
        states {
            /// Recorded; waits for the jobs it needs.
            Created = "CREATED",
            /// Ready to be leased.
            Queued = "QUEUED",
            /// Offered to a runner.
            Leased = "LEASED",
            /// The runner acknowledged and prepares.
            Starting = "STARTING",
            /// Steps are executing.
            Running = "RUNNING",
            /// Steps are over; logs and artifacts are on their way.
            Uploading = "UPLOADING",
            /// Completed with success.
            Succeeded = "SUCCEEDED",
            /// Completed with failure.
            Failed = "FAILED",
            /// A cancel is durable; the runner may still be at work.
            CancelRequested = "CANCEL_REQUESTED",
            /// Cancelled, acknowledged or forced.
            Canceled = "CANCELED",
            /// Ran longer than it may.
            TimedOut = "TIMED_OUT",
            /// Lost its lease too often, or once too often for its effect; results are ignored.
            Stale = "STALE",
        }
        rests {}
        events {
            Enqueue, Grant, Ack, FirstHeartbeat, BeginUpload, Succeed, Fail, LoseLease, LoseLeaseForGood, TimeOut,
            RequestCancel, FinishCancel, CancelUnstarted,
        }
        rows {
            Created + Enqueue => Queued by Orchestrator,
            Queued + Grant => Leased by Orchestrator,
            Leased + Ack => Starting by Orchestrator,
            Starting + FirstHeartbeat => Running by Orchestrator,
            Running + BeginUpload => Uploading by Runner,
            Uploading + Succeed => Succeeded by Orchestrator,
            Uploading + Fail => Failed by Orchestrator,
            Leased | Starting | Running + LoseLease => Queued by Orchestrator,
            Uploading + LoseLease => Queued by Orchestrator
                ext "a runner may die while it uploads; the work is lost like any other",
            Starting | Running | Uploading + LoseLeaseForGood => Stale by Orchestrator
                ext "after lost_leases_max losses, or one loss of an effect that may happen once, the attempt is over",
            Running + TimeOut => TimedOut by Orchestrator,
            Starting | Uploading + TimeOut => TimedOut by Orchestrator
                ext "the job's clock starts at AckLease, so it may run out while preparing or uploading",
            Queued | Leased | Starting | Running + RequestCancel => CancelRequested by Orchestrator,
            Uploading + RequestCancel => CancelRequested by Orchestrator
                ext "a cancel must reach a job that uploads",
            CancelRequested + FinishCancel => Canceled by Orchestrator,
            Created + CancelUnstarted => Canceled by Orchestrator
                ext "a needed job failed, or the cancel came before the attempt was queued",
        }
    }
}
