//! Every row that the specifications list, written down a second time from their text, so that a table can neither lose
//! one nor pass off a row of ours as theirs.
//!
//! A guard that sends one command two ways is two events, here as in the tables.

use std::collections::BTreeSet;

use machines::{Description, Machine, Owner, Source, attempt};

/// The states left (several with `|`, as the specifications write them), the event, the state entered.
type SeedRow = (&'static str, &'static str, &'static str);

/// The rows of a machine that are marked as a specification's are exactly these.
fn check(name: &str, rows: &[SeedRow]) {
    let machine = Description::named(name).unwrap();
    let listed: BTreeSet<_> = rows
        .iter()
        .flat_map(|&(from, event, to)| from.split('|').map(move |from| (from, event, to)))
        .collect();
    let marked: BTreeSet<_> = machine
        .steps()
        .filter(|(_, row)| row.source == Source::Seed)
        .map(|(from, row)| (from, row.event, row.to))
        .collect();
    let lost: Vec<_> = listed.difference(&marked).collect();
    let invented: Vec<_> = marked.difference(&listed).collect();
    assert!(lost.is_empty(), "{name} lacks rows of its specification: {lost:?}");
    assert!(invented.is_empty(), "{name} marks rows that no specification lists: {invented:?}");
}

/// Specification 000, "Run State Machine", transitions 1 to 11.
#[test]
fn run() {
    check(
        "run",
        &[
            ("CREATED", "StartPlanning", "PLANNING"),
            ("PLANNING", "AcceptPlan", "QUEUED"),
            ("PLANNING", "FailPlan", "PLAN_FAILED"),
            ("PLAN_FAILED", "FinalizePlanFailure", "FAILED"),
            ("QUEUED", "FirstJobActive", "RUNNING"),
            ("RUNNING", "AllRequiredSucceeded", "SUCCESS"),
            ("RUNNING", "RequiredJobFailed", "FAILED"),
            ("RUNNING|QUEUED", "RequestCancel", "CANCEL_REQUESTED"),
            ("CANCEL_REQUESTED", "FinishCancel", "CANCELED"),
            ("RUNNING", "TimeOut", "TIMEOUT"),
            ("SUCCESS|FAILED|CANCELED|TIMEOUT", "Report", "REPORTED"),
        ],
    );
}

/// Specification 000, "Job State Machine", transitions 1 to 10. Transition 11 (retry) is a new attempt, see below.
#[test]
fn attempt() {
    check(
        "attempt",
        &[
            ("CREATED", "Enqueue", "QUEUED"),
            ("QUEUED", "Grant", "LEASED"),
            ("LEASED", "Ack", "STARTING"),
            ("STARTING", "FirstHeartbeat", "RUNNING"),
            ("RUNNING", "BeginUpload", "UPLOADING"),
            ("UPLOADING", "Succeed", "SUCCEEDED"),
            ("UPLOADING", "Fail", "FAILED"),
            ("LEASED|STARTING|RUNNING", "LoseLease", "QUEUED"),
            ("RUNNING", "TimeOut", "TIMED_OUT"),
            ("QUEUED|LEASED|STARTING|RUNNING", "RequestCancel", "CANCEL_REQUESTED"),
            ("CANCEL_REQUESTED", "FinishCancel", "CANCELED"),
        ],
    );
}

/// The specification's retry, `FAILED|TIMED_OUT -> QUEUED`, creates a new attempt; the old one stays as it ended.
#[test]
fn a_retry_does_not_move_the_attempt_that_failed() {
    assert!(attempt::State::Failed.is_final());
    assert!(attempt::State::TimedOut.is_final());
    let into_queued: Vec<_> =
        attempt::DESCRIPTION.steps().filter(|(_, row)| row.to == "QUEUED").map(|(from, _)| from).collect();
    assert_eq!(into_queued, ["CREATED", "LEASED", "STARTING", "RUNNING", "UPLOADING"]);
}

/// Specification 000, "Lease State Machine", transitions 1 to 5.
#[test]
fn lease() {
    check(
        "lease",
        &[
            ("GRANTED", "Ack", "ACTIVE"),
            ("GRANTED|ACTIVE", "Expire", "EXPIRED"),
            ("ACTIVE", "Complete", "COMPLETED"),
            ("ACTIVE", "CancelAck", "CANCELED"),
            ("GRANTED|ACTIVE", "Revoke", "REVOKED"),
        ],
    );
}

/// Specification 001, execution level.
#[test]
fn execution() {
    check(
        "execution",
        &[
            ("LEASED", "Start", "IN_PROGRESS"),
            ("IN_PROGRESS", "Commit", "COMMITTED"),
            ("COMMITTED", "Finish", "DONE"),
            ("LEASED", "Abort", "ABORTED"),
            ("IN_PROGRESS", "Abort", "ABORTED"),
        ],
    );
}

/// Specification 001, job level; its summary adds `RUNNING -> FAILED`, and 000 says when a job has failed.
#[test]
fn job() {
    check(
        "job",
        &[
            ("PENDING", "LeaseGranted", "RUNNING"),
            ("RUNNING", "ExecutionDone", "SUCCEEDED"),
            ("RUNNING", "LeaseLost", "PENDING"),
            ("RUNNING", "FailedForGood", "FAILED"),
        ],
    );
}

/// Specification 003, section 1.
#[test]
fn upload() {
    check(
        "upload",
        &[
            ("initiated", "StartPartsUpload", "parts_uploading"),
            ("initiated", "FastPathDedupe", "committed"),
            ("parts_uploading", "CompleteParts", "pending_commit"),
            ("pending_commit", "CommitVerified", "committed"),
            ("pending_commit", "CommitMismatched", "aborted"),
            ("initiated|parts_uploading|pending_commit", "AbortUpload", "aborted"),
        ],
    );
}

/// Specification 003, section 2.
#[test]
fn version() {
    check(
        "version",
        &[
            ("draft", "PublishAllowed", "published"),
            ("draft", "PublishQuarantined", "draft"),
            ("published", "Tombstone", "tombstoned"),
            ("tombstoned", "Restore", "published"),
        ],
    );
}

/// Specification 003, section 3.
#[test]
fn delivery() {
    check(
        "delivery",
        &[
            ("pending", "Claim", "delivering"),
            ("delivering", "Succeed", "delivered"),
            ("delivering", "FailWithTriesLeft", "retry_wait"),
            ("retry_wait", "TimeReached", "pending"),
            ("delivering", "FailForGood", "dead_letter"),
        ],
    );
}

/// Specification 003, section 4.
#[test]
fn blob() {
    check(
        "blob",
        &[
            ("live", "RequestDelete", "tombstoned"),
            ("tombstoned", "RetentionElapsed", "eligible_for_gc"),
            ("eligible_for_gc", "Sweep", "deleted"),
            ("eligible_for_gc", "Mark", "live"),
        ],
    );
}

/// Specification 004, "Transition Rules"; the way into the optional planning is only in its diagram.
#[test]
fn tenant() {
    check(
        "tenant",
        &[
            ("requested", "Plan", "planning"),
            ("requested", "Provision", "provisioning"),
            ("requested", "Fail", "failed"),
            ("planning", "Provision", "provisioning"),
            ("planning", "Fail", "failed"),
            ("provisioning", "Finish", "ready"),
            ("provisioning", "Fail", "failed"),
            ("ready", "Update", "updating"),
            ("ready", "Delete", "deleting"),
            ("updating", "Finish", "ready"),
            ("updating", "Fail", "failed"),
            ("deleting", "Finish", "archived"),
            ("deleting", "Fail", "failed"),
            ("failed", "Delete", "deleting"),
        ],
    );
}

/// Specification 004 names the sub-states of a workflow and no step between them.
#[test]
fn workflow() {
    check("workflow", &[]);
}

/// Specification 000 names an owner for each row of run and attempt: the orchestrator, but for two.
#[test]
fn owners() {
    for name in ["run", "attempt"] {
        for (from, row) in Description::named(name).unwrap().steps() {
            let expected = match row.to {
                "REPORTED" => Owner::StatusReporter,
                "UPLOADING" => Owner::Runner,
                _ => Owner::Orchestrator,
            };
            assert_eq!(row.owner, expected, "{name} {from} + {}", row.event);
        }
    }
}
