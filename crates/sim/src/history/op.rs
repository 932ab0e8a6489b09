//! What clients can ask for, in the words of the promises. Names are the client's own: a job's id, a subscriber, a file.

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Op {
    /// An item goes into a queue: a job is submitted, a message is written.
    Put { queue: String, item: String },
    /// An item came out: the job was executed, the message arrived. Out more than once is allowed.
    Take { queue: String, item: String },
    /// Everything that is in the queue has had its time to come out; whoever says so waited for it.
    Drained { queue: String },
    /// Asks for the lease on a thing; `token` is known with the answer.
    Acquire { lease: String, token: Option<u64> },
    /// Speaks as the holder: renews, appends, uploads.
    Use { lease: String, token: u64 },
    /// The holder's last word, of which there is one for the thing.
    Finish { lease: String, token: u64 },
    /// A name that must never be given out again, known with the answer.
    Name { of: String, name: Option<String> },
    /// Counts.
    Add { counter: String, by: u64 },
    /// Looks at what was counted; known with the answer.
    Count { counter: String, is: Option<u64> },
    /// Makes something at least this long.
    Grow { log: String, to: u64 },
    /// How long it is; known with the answer.
    Length { log: String, is: Option<u64> },
    /// Hands something in that is to be kept for good.
    Keep { set: String, item: String },
    /// Everything that is kept; known with the answer.
    Look { set: String, items: Option<Vec<String>> },
}
