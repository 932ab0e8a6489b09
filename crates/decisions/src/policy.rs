//! Timings and bounds that commands are decided by. The defaults are the specifications'.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Policy {
    pub lease_ttl: Duration,
    pub heartbeat_interval: Duration,
    pub ack_timeout: Duration,
    pub cancel_deadline: Duration,
    pub plan_timeout: Duration,
    pub run_timeout: Duration,
    /// For jobs that name none.
    pub job_timeout: Duration,
    /// The runner is told the job's timeout; the orchestrator enforces it this much later.
    pub timeout_buffer: Duration,
    pub lost_leases_max: u32,
    pub acks_missed_max: u32,
    pub runner_bar: Duration,
    /// How coarsely a runner's last sign of life is kept.
    pub last_seen_step: Duration,
    /// For jobs that name none.
    pub attempts_max: u32,
    pub delivery_tries_max: u32,
    pub delivery_claim_ttl: Duration,
    pub delivery_backoff_first: Duration,
    pub delivery_backoff_max: Duration,
    pub jobs_per_run_max: usize,
    pub spec_bytes_max: usize,
    /// Of each log the beginning, for good.
    pub log_head_bytes_max: u64,
    /// And the end, as far as it has come.
    pub log_tail_bytes_max: u64,
    /// What one message may add.
    pub log_chunk_bytes_max: usize,
    /// How long an upload may take.
    pub upload_ttl: Duration,
    /// How long bytes stay that somebody was told of and nothing refers to.
    pub blob_grace: Duration,
    pub upload_bytes_max: u64,
    pub upload_parts_max: usize,
    pub version_entries_max: usize,
    /// How long a cache is kept that no job asks for.
    pub cache_ttl: Duration,
    /// What a tenant's caches may take; those used last stay.
    pub cache_bytes_max: u64,
    /// A collector that says nothing for so long has ended.
    pub collection_hold: Duration,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            lease_ttl: Duration::from_secs(120),
            heartbeat_interval: Duration::from_secs(20),
            ack_timeout: Duration::from_secs(30),
            cancel_deadline: Duration::from_secs(30),
            plan_timeout: Duration::from_secs(60),
            run_timeout: Duration::from_secs(6 * 3600),
            job_timeout: Duration::from_secs(3600),
            timeout_buffer: Duration::from_secs(30),
            lost_leases_max: 2,
            acks_missed_max: 3,
            runner_bar: Duration::from_secs(60),
            last_seen_step: Duration::from_secs(10),
            attempts_max: 3,
            delivery_tries_max: 8,
            delivery_claim_ttl: Duration::from_secs(60),
            delivery_backoff_first: Duration::from_secs(1),
            delivery_backoff_max: Duration::from_secs(300),
            jobs_per_run_max: 10_000,
            spec_bytes_max: 256 * 1024,
            log_head_bytes_max: 4 * 1024 * 1024,
            log_tail_bytes_max: 4 * 1024 * 1024,
            log_chunk_bytes_max: wire::runner::LOG_CHUNK_BYTES_MAX,
            upload_ttl: Duration::from_secs(24 * 3600),
            blob_grace: Duration::from_secs(3600),
            upload_bytes_max: 1 << 40,
            upload_parts_max: 10_000,
            version_entries_max: 10_000,
            cache_ttl: Duration::from_secs(7 * 24 * 3600),
            cache_bytes_max: 10 << 30,
            collection_hold: Duration::from_secs(60),
        }
    }
}

/// How many jobs one command may touch when a run is swept or dependents are released; the rest follows in the next.
pub const CHUNK: usize = 100;

/// The longest text of a runner that is kept.
pub const TEXT_BYTES_MAX: usize = 4 * 1024;

/// The beginning of a text, cut between characters.
pub fn shortened(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
