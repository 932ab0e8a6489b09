//! Delivery: one outbox message on its way to one subscriber (seed 003, section 3).

machine! {
    /// One message to the outside world, told at least once.
    delivery {
        states {
            /// Waits for a worker.
            Pending = "pending",
            /// Claimed; a handler is at work.
            Delivering = "delivering",
            /// The subscriber has it.
            Delivered = "delivered",
            /// Failed; waits for its next try.
            RetryWait = "retry_wait",
            /// Failed for good; an operator may redrive it.
            DeadLetter = "dead_letter",
        }
        rests { DeadLetter }
        events {
            Claim, Succeed, FailWithTriesLeft, FailForGood, TimeReached, ClaimExpiredWithTriesLeft,
            ClaimExpiredForGood, Redrive,
        }
        rows {
            Pending + Claim => Delivering by OutboxWorker,
            Delivering + Succeed => Delivered by OutboxWorker,
            Delivering + FailWithTriesLeft => RetryWait by OutboxWorker,
            Delivering + FailForGood => DeadLetter by OutboxWorker,
            RetryWait + TimeReached => Pending by OutboxWorker,
            Delivering + ClaimExpiredWithTriesLeft => RetryWait by Orchestrator
                ext "a worker may die while delivering; its claim runs out",
            Delivering + ClaimExpiredForGood => DeadLetter by Orchestrator
                ext "a claim that runs out counts as a failed try, also the last one",
            DeadLetter + Redrive => Pending by Orchestrator
                ext "an operator may send a dead letter again, its tries counted from zero",
        }
    }
}
