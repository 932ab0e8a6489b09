//! Lease: the exclusive right of one runner to execute one attempt (seed 000, "Lease State Machine").

machine! {
    /// The right of one runner to execute one attempt.
    lease {
        states {
            /// Offered; the acknowledgement window is open.
            Granted = "GRANTED",
            /// Acknowledged; each heartbeat moves `expires_at` forward.
            Active = "ACTIVE",
            /// The TTL passed without a heartbeat.
            Expired = "EXPIRED",
            /// Taken back by the orchestrator.
            Revoked = "REVOKED",
            /// Ended by an accepted completion.
            Completed = "COMPLETED",
            /// Ended by an accepted cancellation.
            Canceled = "CANCELED",
        }
        rests {}
        events { Ack, Complete, CancelAck, Expire, Revoke }
        rows {
            Granted + Ack => Active by Orchestrator,
            Active + Complete => Completed by Orchestrator,
            Active + CancelAck => Canceled by Orchestrator,
            Granted | Active + Expire => Expired by Orchestrator,
            Granted | Active + Revoke => Revoked by Orchestrator,
        }
    }
}

impl State {
    /// The runner may still speak for the attempt.
    pub fn is_live(self) -> bool {
        matches!(self, State::Granted | State::Active)
    }
}
