//! Blob: stored bytes, from live to physically deleted (seed 003, section 4).

machine! {
    /// Stored bytes and their way out.
    blob {
        states {
            /// Readable.
            Live = "live",
            /// Deletion asked for; the retention runs.
            Tombstoned = "tombstoned",
            /// A candidate of the next sweep.
            EligibleForGc = "eligible_for_gc",
            /// The bytes are gone.
            Deleted = "deleted",
        }
        rests { Live }
        events { RequestDelete, Reference, RetentionElapsed, Sweep, Mark }
        rows {
            Live + RequestDelete => Tombstoned by Collector,
            Tombstoned + Reference => Live by Orchestrator
                ext "a blob referenced again before its deletion is live again",
            Tombstoned + RetentionElapsed => EligibleForGc by Collector,
            EligibleForGc + Sweep => Deleted by Collector,
            EligibleForGc + Mark => Live by Collector,
        }
    }
}
