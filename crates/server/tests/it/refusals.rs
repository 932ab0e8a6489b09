//! Every way to be told no: each refusal once, with its stable code, and without a trace.
//!
//! The tables name every variant; one that is added to the program and not here does not compile.

use std::fs;
use std::path::Path;

use decisions::Refusal;
use wire::runner::StaleReason;

use crate::script::check;

/// A variant, its code, and a script that ends with it. What no word of a script asks for is told of elsewhere: of
/// artifacts, in the tests of the API.
macro_rules! cases {
    ($kind:ident: $($variant:ident, $code:literal, $script:literal;)+
        $(; elsewhere: $($other:ident, $other_code:literal;)+)?) => {
        const CASES: &[(&str, &str)] = &[$(($code, $script)),+];
        $(const ELSEWHERE: &[&str] = &[$($other_code),+];)?

        /// The code that the table promises for a variant.
        fn code_of(it: &$kind) -> &'static str {
            match it {
                $($kind::$variant { .. } => $code,)+
                $($($kind::$other { .. } => $other_code,)+)?
            }
        }
    };
}

cases! { Refusal:
    StaleLease, "stale_lease", "
        0s   submit J
        0s   grant L a
        0s   ack L
        120s heartbeat L                  -> refused stale_lease LEASE_EXPIRED
    ";
    LeaseNotAcknowledged, "lease_not_acknowledged", "
        0s   submit J
        0s   grant L a
        0s   heartbeat L                  -> refused lease_not_acknowledged
    ";
    CancelRequested, "cancel_requested", "
        0s   submit J
        0s   grant L a
        0s   ack L
        0s   cancel J
        0s   commit L                     -> refused cancel_requested
    ";
    CancelNotRequested, "cancel_not_requested", "
        0s   submit J
        0s   grant L a
        0s   ack L
        0s   cancel-ack L                 -> refused cancel_not_requested
    ";
    TenantNotFound, "tenant_not_found", "
        0s   run R tenant=other           -> refused tenant_not_found
        0s   webhook ci x tenant=other    -> refused tenant_not_found
        0s   submit J tenant=other        -> refused tenant_not_found
        0s   token T runner scope=other   -> refused tenant_not_found
    ";
    TenantExists, "tenant_exists", "
        0s   create-tenant one            -> created
        0s   create-tenant one            -> refused tenant_exists
    ";
    TokenNotFound, "token_not_found", "
        0s   revoke T                     -> refused token_not_found
        0s   token T runner scope=own     -> created
        0s   revoke T scope=other         -> refused token_not_found
        0s   revoke T scope=shared        -> refused token_not_found
    ";
    LogOffset, "log_offset", "
        0s   submit J
        0s   grant L a
        0s   ack L
        0s   log L 1 hello                -> refused log_offset 0
    ";
    LogGrows, "log_grows", "
        0s   submit J
        0s   grant L a
        0s   ack L
        0s   log L 0 hello
        0s   cancel J
        0s   archive L placed             -> refused log_grows
    ";
    TenantNotReady, "tenant_not_ready", "
        0s   run R
        0s   set-tenant deleting
        0s   submit J                     -> refused tenant_not_ready deleting
        0s   run S                        -> refused tenant_not_ready deleting
        0s   rerun T R                    -> refused tenant_not_ready deleting
        0s   set-tenant failed
        0s   webhook ci run.finished      -> refused tenant_not_ready failed
    ";
    RunNotFound, "run_not_found", "
        0s   plan unknown a               -> refused run_not_found
        0s   plan-failed unknown no       -> refused run_not_found
        0s   rerun S unknown              -> refused run_not_found
        0s   sweep unknown                -> refused run_not_found
        0s   create R
        0s   cancel R tenant=other        -> refused run_not_found
        0s   cancel unknown-run           -> refused run_not_found
    ";
    JobNotFound, "job_not_found", "
        0s   grant L a unknown            -> refused job_not_found
        0s   retry unknown                -> refused job_not_found
        0s   release unknown              -> refused job_not_found
        0s   submit J
        0s   grant L a J scope=other      -> refused job_not_found
        0s   retry J tenant=other         -> refused job_not_found
        0s   cancel J tenant=other        -> refused job_not_found
        0s   cancel unknown               -> refused job_not_found
    ";
    WebhookNotFound, "webhook_not_found", "
        0s   webhook-remove ci            -> refused webhook_not_found
        0s   webhook ci job.finished      -> put
        0s   webhook-remove ci            -> removed
        0s   webhook-remove ci            -> refused webhook_not_found
    ";
    DeliveryNotFound, "delivery_not_found", "
        0s   claim unknown                -> refused delivery_not_found
        0s   delivered unknown            -> refused delivery_not_found
        0s   failed unknown no            -> refused delivery_not_found
        0s   expire unknown               -> refused delivery_not_found
        0s   redrive unknown              -> refused delivery_not_found
    ";
    RunNotPlanning, "run_not_planning", "
        0s   run R a                      -> QUEUED
        0s   plan-failed R no             -> refused run_not_planning QUEUED
        0s   create S
        0s   cancel S
        0s   plan S a                     -> refused run_not_planning REPORTED
    ";
    RunOver, "run_over", "
        0s   run R                        -> REPORTED SUCCESS
        0s   cancel R                     -> refused run_over SUCCESS
    ";
    RunNotOver, "run_not_over", "
        0s   run R a                      -> QUEUED
        0s   rerun S R                    -> refused run_not_over QUEUED
    ";
    RunHasNoPlan, "run_has_no_plan", "
        0s   create R
        0s   cancel R
        0s   rerun S R                    -> refused run_has_no_plan
    ";
    JobOver, "job_over", "
        0s   submit J
        0s   cancel J
        0s   grant L a J                  -> refused job_over CANCELED
    ";
    JobNotRetryable, "job_not_retryable", "
        0s   submit J
        0s   retry J                      -> refused job_not_retryable it has not failed
    ";
    JobLeased, "job_leased", "
        0s   submit J
        0s   grant L a
        0s   grant M b J                  -> refused job_leased
    ";
    JobNotReady, "job_not_ready", "
        0s   run R a b:needs=a
        0s   grant L a b                  -> refused job_not_ready
    ";
    JobConflict, "job_conflict", "
        0s   submit J key=mine payload=one
        0s   submit K key=mine payload=one    -> existing PENDING
        0s   submit L key=mine payload=two    -> refused job_conflict
    ";
    AlreadyCommitted, "already_committed", "
        0s   submit J
        0s   grant L a
        0s   ack L
        0s   commit L
        0s   cancel J                     -> refused already_committed
    ";
    PlanInvalid, "plan_invalid", "
        0s   run R a:needs=b              -> refused plan_invalid job `a` needs `b`, which is not in the plan
    ";
    InvalidInput, "invalid_input", "
        0s   submit A attempts=0          -> refused invalid_input max_attempts
        0s   submit B attempts=101        -> refused invalid_input max_attempts
        0s   submit C timeout=0s          -> refused invalid_input timeout_seconds
        0s   submit D key=a/b             -> refused invalid_input job_id
        0s   tenant NOT_A_LABEL           -> refused invalid_input name
        0s   submit J
        0s   grant L a
        0s   ack L
        0s   log L 0 size=300000          -> refused invalid_input body
        0s   create-tenant x config=7     -> refused invalid_input desired_config
        0s   create-tenant x config={     -> refused invalid_input desired_config
        0s   create-tenant NO             -> refused invalid_input name
        0s   token T admin scope=own      -> refused invalid_input kind
        0s   token T tenant               -> refused invalid_input kind
        0s   commit L effects=101         -> refused invalid_input effects
    ";
    DeliveryNotDead, "delivery_not_dead", "
        0s   webhook ci run.finished
        0s   run R
        0s   message M run.finished
        0s   redrive M                    -> refused delivery_not_dead pending
    ";
    ClaimLost, "claim_lost", "
        0s   webhook ci run.finished
        0s   run R
        0s   message M run.finished
        0s   delivered M claim=0            -> refused claim_lost
        0s   claim M
        0s   delivered M claim=2            -> refused claim_lost
        0s   failed M no claim=0            -> refused claim_lost
    ";
    ; elsewhere:
    UploadNotFound, "upload_not_found";
    UploadEnded, "upload_ended";
    UploadNotReady, "upload_not_ready";
    UploadInParts, "upload_in_parts";
    PartsMissing, "parts_missing";
    QuotaExceeded, "quota_exceeded";
    BlobMissing, "blob_missing";
    VersionNotFound, "version_not_found";
    Immutable, "immutable";
    VersionChanged, "version_changed";
    VersionNotPublished, "version_not_published";
    VersionTombstoned, "version_tombstoned";
    RetentionOver, "retention_over";
    CacheNotFound, "cache_not_found";
    CollectionNotFound, "collection_not_found";
    CollectionLost, "collection_lost";
    MarkNotComplete, "mark_not_complete";
}

/// The scripts compare the code that comes with the one they expect; `run_group` sees to it that the log stays as it is.
#[test]
fn every_refusal_is_produced_with_its_code_and_leaves_no_trace() {
    for (code, script) in CASES {
        let last = script.trim().lines().last().unwrap_or_default();
        assert!(last.contains(&format!("-> refused {code}")), "the script for {code} ends with it: {last}");
        check(script);
    }
}

#[test]
fn a_code_that_is_told_elsewhere_is_expected_by_a_test_there() {
    let mut sources = String::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            match entry.file_name().and_then(|name| name.to_str()) {
                Some("refusals.rs") => {}
                _ if entry.is_dir() => folders.push(entry),
                _ => sources.push_str(&fs::read_to_string(entry).expect("a source")),
            }
        }
    }
    let missing = ELSEWHERE.iter().filter(|code| !sources.contains(&format!("\"{code}\"")));
    assert_eq!(missing.collect::<Vec<_>>(), [] as [&&str; 0]);
}

#[test]
fn a_code_is_what_the_table_says_and_nobody_elses() {
    let codes: std::collections::BTreeSet<_> = CASES.iter().map(|(code, _)| code).collect();
    assert_eq!(codes.len(), CASES.len());
    let refusal = Refusal::RunOver { state: "SUCCESS" };
    assert_eq!(refusal.code(), code_of(&refusal));
}

mod stale {
    use super::{StaleReason, check};

    cases! { StaleReason:
        LeaseUnknown, "LEASE_UNKNOWN", "
            0s   heartbeat unknown        -> refused stale_lease LEASE_UNKNOWN
        ";
        LeaseExpired, "LEASE_EXPIRED", "
            0s   submit J
            0s   grant L a
            30s  ack L                    -> refused stale_lease LEASE_EXPIRED
        ";
        LeaseRevoked, "LEASE_REVOKED", "
            0s   submit J
            0s   grant L a
            30s  tick
            30s  ack L                    -> refused stale_lease LEASE_REVOKED
        ";
        LeaseCompleted, "LEASE_COMPLETED", "
            0s   submit J
            0s   grant L a
            0s   ack L
            0s   complete L ok
            0s   ack L                    -> refused stale_lease LEASE_COMPLETED
            0s   heartbeat L              -> refused stale_lease LEASE_COMPLETED
        ";
        LeaseCanceled, "LEASE_CANCELED", "
            0s   submit J
            0s   grant L a
            0s   ack L
            0s   cancel J
            0s   cancel-ack L
            0s   commit L                 -> refused stale_lease LEASE_CANCELED
            0s   heartbeat L              -> refused stale_lease LEASE_CANCELED
        ";
    }

    #[test]
    fn every_reason_is_produced_by_its_name() {
        for (name, script) in CASES {
            let last = script.trim().lines().last().unwrap_or_default();
            assert!(last.ends_with(name), "the script for {name} ends with it: {last}");
            check(script);
        }
        let spelled = serde_json::to_value(StaleReason::LeaseUnknown).unwrap();
        assert_eq!(spelled, code_of(&StaleReason::LeaseUnknown));
    }
}
