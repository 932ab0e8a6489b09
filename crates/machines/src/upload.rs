//! Upload: bytes on their way into the artifact store (seed 003, section 1).

machine! {
    /// A session that brings one blob into the store.
    upload {
        states {
            /// The session is open; no byte has been sent yet.
            Initiated = "initiated",
            /// Parts are being sent.
            PartsUploading = "parts_uploading",
            /// All parts are here, not yet verified.
            PendingCommit = "pending_commit",
            /// Digest and length verified.
            Committed = "committed",
            /// Ended without a blob; a new session starts over.
            Aborted = "aborted",
        }
        rests {}
        events {
            StartPartsUpload, FastPathDedupe, CompleteParts, CommitVerified, CommitMismatched, AbortUpload,
        }
        rows {
            Initiated + StartPartsUpload => PartsUploading by Orchestrator,
            Initiated + FastPathDedupe => Committed by Orchestrator,
            PartsUploading + CompleteParts => PendingCommit by Orchestrator,
            PendingCommit + CommitVerified => Committed by Orchestrator,
            PendingCommit + CommitMismatched => Aborted by Orchestrator,
            Initiated | PartsUploading | PendingCommit + AbortUpload => Aborted by Orchestrator,
        }
    }
}
