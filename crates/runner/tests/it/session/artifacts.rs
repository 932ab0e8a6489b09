//! Artifacts: after the steps, before the final word, and never against the lease.

use runner::session::{Plan, Terms, Wanted};

use crate::script::{check_with, usual};

fn check(script: &str) {
    let artifacts = Wanted { any: true, reports: true, caches: true };
    check_with(Terms { artifacts, ..usual() }, Plan::Run, script);
}

const BEGUN: &str = "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        0.2s   step 0
";

fn check_begun(script: &str) {
    check(&format!("{BEGUN}{script}"));
}

#[test]
fn what_a_job_made_is_in_its_result_and_the_heartbeats_say_uploading() {
    check_begun(
        "
        1s     finished succeeded        -> collect all, heartbeat uploading step 0 sent 0
        1.1s   heartbeat beaten
        21s    tick                      -> heartbeat uploading step 0 sent 0
        21.1s  heartbeat beaten
        22s    written 30
        22.1s  tick                      -> log 0
        22.2s  log logged 30
        23s    collected done 3          -> complete SUCCEEDED 0 (2 steps succeeded) with 3
        23.1s  complete accepted         -> over completed succeeded
    ",
    );
}

#[test]
fn the_log_goes_out_whole_after_the_artifacts() {
    check_begun(
        "
        1s     finished succeeded        -> collect all, heartbeat uploading step 0 sent 0
        1.1s   heartbeat beaten
        1.2s   written 9
        1.25s  collected done 1          -> log 0
        1.3s   log logged 9              -> complete SUCCEEDED 0 (2 steps succeeded) with 1
    ",
    );
}

#[test]
fn of_a_failed_job_only_the_reports_are_wanted() {
    check_begun(
        "
        1s     finished failed 0 1       -> collect reports, heartbeat uploading step 0 sent 0
        1.5s   collected done 1          -> complete FAILED 1 (step 1 of 2 ended with exit code 1) with 1
    ",
    );
    let artifacts = Wanted { any: true, reports: false, caches: false };
    let begun =
        format!("{BEGUN}1s finished failed 0 1 -> complete FAILED 1 (step 1 of 2 ended with exit code 1)");
    check_with(Terms { artifacts, ..usual() }, Plan::Run, &begun);
}

#[test]
fn what_is_not_the_jobs_fault_leaves_nothing_behind() {
    check_begun("1s finished infra no disk -> complete INFRA 125 (executor unavailable: no disk)");
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        1s     finished failed 0 1       -> complete FAILED 1 (step 1 of 2 ended with exit code 1)
    ",
    );
}

#[test]
fn an_upload_that_fails_is_trouble_around_the_job_and_too_much_is_the_jobs_own() {
    check_begun(
        "
        1s     finished succeeded        -> collect all, heartbeat uploading step 0 sent 0
        2s     collected failed 2 `a`: no store -> complete INFRA 125 (artifact upload failed: `a`: no store)
    ",
    );
    check_begun(
        "
        1s     finished succeeded        -> collect all, heartbeat uploading step 0 sent 0
        2s     collected too-much ten files -> complete FAILED 1 (ten files)
    ",
    );
}

#[test]
fn a_job_that_failed_says_so_whatever_became_of_its_reports() {
    check_begun(
        "
        1s     finished failed 0 1       -> collect reports, heartbeat uploading step 0 sent 0
        2s     collected failed 1 no store -> complete FAILED 1 (step 1 of 2 ended with exit code 1 (artifacts are missing: no store)) with 1
    ",
    );
}

#[test]
fn a_cancel_stops_the_uploads() {
    check_begun(
        "
        1s     finished succeeded        -> collect all, heartbeat uploading step 0 sent 0
        1.1s   heartbeat beaten cancel 30s -> abandon, cancel-ack (canceled while artifacts were uploaded)
        1.2s   collected done 1
        1.3s   cancel-ack cancel-acked   -> over canceled
    ",
    );
}

#[test]
fn a_stale_lease_stops_the_uploads_whoever_hears_of_it() {
    check_begun(
        "
        1s     finished succeeded        -> collect all, heartbeat uploading step 0 sent 0
        1.1s   heartbeat stale revoked   -> over stale LeaseRevoked
    ",
    );
    check_begun(
        "
        1s     finished succeeded        -> collect all, heartbeat uploading step 0 sent 0
        1.1s   collected stale expired   -> over stale LeaseExpired
    ",
    );
}

#[test]
fn uploads_do_not_outlive_the_lease() {
    check_begun(
        "
        1s     finished succeeded        -> collect all, heartbeat uploading step 0 sent 0
        1.1s   heartbeat beaten not-extended
        -      wakes                     -> 21s
        21s    tick                      -> heartbeat uploading step 0 sent 0
        120s   tick                      -> over lease lost
        121s   collected done 1
    ",
    );
}

#[test]
fn an_operator_who_wants_the_runner_gone_does_not_wait_for_uploads() {
    check_begun(
        "
        1s     finished succeeded        -> collect all, heartbeat uploading step 0 sent 0
        2s     stop                      -> abandon, complete INFRA 125 (executor unavailable: the runner was told to stop and hands the job back)
    ",
    );
}
