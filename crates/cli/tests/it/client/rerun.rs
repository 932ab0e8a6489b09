//! `deltaci rerun`.

use super::{job_of, state_of};
use crate::harness::Site;
use crate::{stderr, stdout};

/// Fails until the file exists.
fn failed_run(site: &Site) -> (String, std::path::PathBuf) {
    let file = site.folder.path().join("mended");
    let step = format!("test -e {}", file.display());
    let words = ["trigger", "--step", &step, "--wait"];
    (stdout(&site.exits(1, &words)).trim_end().into(), file)
}

#[test]
fn what_failed_is_run_again() {
    let site = Site::start().with_runner();
    let (run, file) = failed_run(&site);
    site.exits(1, &["rerun", &run, "--wait"]);
    std::fs::write(file, "").unwrap();
    let again = site.said(&["rerun", &run, "--failed", "--wait"]);
    assert_ne!(again, run);
    assert_eq!(state_of(&site, &again), "SUCCESS");
    assert!(site.said(&["show", &again]).contains(&format!("rerun of {run}")));
    let json = site.json(&["rerun", &run]);
    assert_eq!((&json["rerun_of"], &json["attempt"]), (&run.into(), &2.into()));
}

#[test]
fn a_job_gets_one_more_attempt_while_its_run_goes_on() {
    let site = Site::start().with_runner();
    let (mended, done) = (site.folder.path().join("mended"), site.folder.path().join("done"));
    let plan = format!(
        r#"{{"jobs":[{{"name":"sick","required":false,"steps":["test -e {}"]}},
            {{"name":"open","steps":["until test -e {}; do sleep 0.02; done"]}}]}}"#,
        mended.display(),
        done.display()
    );
    let run = site.said(&["trigger", "--plan", &site.file("plan.json", &plan)]);
    let job = job_of(&site, &run, "sick");
    site.exits(1, &["logs", &job, "--follow"]);
    site.exits(2, &["rerun", &job, "--failed"]);
    std::fs::write(mended, "").unwrap();
    site.exits(0, &["rerun", &job, "--wait"]);
    assert_eq!(site.json(&["show", &job])["attempts"][1]["state"], "SUCCEEDED");
    std::fs::write(done, "").unwrap();
    site.exits(0, &["logs", &run, "--follow"]);
    let output = site.exits(1, &["rerun", &job]);
    assert!(stderr(&output).contains("rerun"), "{}", stderr(&output));
}

#[test]
fn what_is_not_over_is_not_run_again() {
    let site = Site::start();
    let run = site.said(&["trigger", "--step", "true"]);
    let output = site.exits(1, &["rerun", &run]);
    assert!(stderr(&output).contains("the run is not over"), "{}", stderr(&output));
    site.exits(2, &["rerun", "run_00000000000000000000000000"]);
}
