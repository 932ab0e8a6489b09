//! Runs that the server plans itself: from a real repository, by difference, with reuse, in order of their group.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::e2e::patience::until;
use crate::e2e::site::{LONG, Site};
use crate::e2e::worker::Worker;

const FILE: &str = r#"
version: 1
jobs:
  lib: { run: cat lib/a.txt, paths: ["lib/**"] }
  app: { needs: [lib], run: cat app/b.txt, paths: ["app/**"] }
  docs: { run: cat docs/c.txt, paths: ["docs/**"] }
  deploy: { run: "true", effect: once, paths: ["app/**"] }
"#;

/// The jobs make different files.
const MATRIX: &str = r#"
version: 1
jobs:
  build:
    matrix: { n: [one, two] }
    run: mkdir dist && echo {n} > dist/{n}
    artifacts: [{ type: binary, path: "dist/*" }]
    publish: { package: app, version: "{branch}" }
"#;

struct Repository {
    path: PathBuf,
}

impl Repository {
    fn new(site: &Site) -> Repository {
        let repository = Repository { path: site.path("repository") };
        fs::create_dir(&repository.path).expect("a folder can be made");
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.write("delta-ci.yaml", FILE);
        repository.write("lib/a.txt", "the library\n");
        repository.write("app/b.txt", "the application\n");
        repository.write("docs/c.txt", "the words\n");
        repository
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, text).expect("a file can be written");
    }

    fn git(&self, words: &[&str]) -> String {
        let who = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
        let output = Command::new("git").args(who).args(words).current_dir(&self.path).output();
        let output = output.expect("git is there");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    /// Everything as it is; the commit's name.
    fn commit(&self) -> String {
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--message", "all"]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn run(&self, site: &Site, more: Value) -> Value {
        let mut asked = json!({"repository": format!("file://{}", self.path.display()), "ref": "main"});
        let object = asked.as_object_mut().expect("an object");
        object.extend(more.as_object().expect("an object").clone());
        let run = site.post("/v1/tenants/default/runs", &asked).expect(201);
        let path = format!("/v1/tenants/default/runs/{}", run["id"].as_str().expect("an id"));
        until("the run is over", || {
            let run = site.get(&path).expect(200);
            run["finished_at"].is_string().then_some(run)
        })
    }
}

/// `name decision rule`, as planned.
fn decisions(run: &Value) -> Vec<String> {
    let jobs = run["plan"]["jobs"].as_array().unwrap_or_else(|| panic!("no plan: {run}"));
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let line = |job: &Value| {
        format!("{} {} {}", text(&job["name"]), text(&job["decision"]), text(&job["reasons"][0]["rule"]))
    };
    jobs.iter().map(line).collect()
}

fn site() -> (Site, Worker) {
    let flags = [&LONG[..], &["--allow-local-repositories"]].concat();
    let site = Site::start(&flags);
    let worker = Worker::start(&site, "a", &[]);
    (site, worker)
}

#[test]
fn a_repository_is_planned_run_reused_and_skipped_by_difference() {
    let (site, _worker) = site();
    let repository = Repository::new(&site);
    let first = repository.commit();

    let run = repository.run(&site, json!({}));
    assert_eq!(run["outcome"], "SUCCESS", "{run}");
    let all = ["lib run new-inputs", "app run needs", "docs run new-inputs", "deploy run effect-once"];
    assert_eq!(decisions(&run), all);
    let log = site.get(&format!("/v1/tenants/default/jobs/{}/log", run["jobs"][0]["id"].as_str().unwrap()));
    assert!(log.text().contains("the library\n"));

    repository.write("app/b.txt", "another application\n");
    repository.commit();
    let second = repository.run(&site, json!({}));
    assert_eq!(second["outcome"], "SUCCESS", "{second}");
    let some = ["lib reuse reuse", "app run new-inputs", "docs reuse reuse", "deploy run effect-once"];
    assert_eq!(decisions(&second), some);
    let reused = &second["plan"]["jobs"][0]["reasons"][0];
    assert_eq!((&reused["run"], &reused["job"]), (&run["id"], &run["jobs"][0]["id"]));

    let skipped = repository.run(&site, json!({"base": first}));
    let by_difference =
        ["lib skip unchanged", "app reuse reuse", "docs skip unchanged", "deploy run changed"];
    assert_eq!(decisions(&skipped), by_difference, "{skipped}");
    assert_eq!(skipped["plan"]["base"], json!(first));
    let reasons = &skipped["plan"]["jobs"][3]["reasons"][0];
    assert_eq!((&reasons["base"], &reasons["files"]), (&json!(first), &json!(["app/b.txt"])));
}

#[test]
fn what_a_stranger_succeeded_with_is_not_used_by_others() {
    let (site, _worker) = site();
    let repository = Repository::new(&site);
    repository.commit();
    let stranger = repository.run(&site, json!({"trust": "untrusted"}));
    assert_eq!(stranger["outcome"], "SUCCESS");
    let trusted = repository.run(&site, json!({}));
    assert_eq!(decisions(&trusted)[0], "lib run new-inputs", "{trusted}");
    let stranger = repository.run(&site, json!({"trust": "untrusted"}));
    assert_eq!(stranger["plan"]["jobs"][0]["reasons"][0]["run"], trusted["id"], "{stranger}");
}

#[test]
fn a_file_with_mistakes_fails_the_plan_and_says_where() {
    let (site, _worker) = site();
    let repository = Repository::new(&site);
    repository.write("delta-ci.yaml", "version: 1\njobs:\n  a:\n    run: make\n    need: [b]\n");
    repository.commit();
    let run = repository.run(&site, json!({}));
    let message = run["status_message"].as_str().expect("words");
    assert!(message.contains("delta-ci.yaml:5:5") && message.contains("did you mean `needs`?"), "{message}");
    assert_eq!(run["outcome"], "FAILED");
}

#[test]
fn of_a_matrix_that_publishes_one_version_the_first_makes_it() {
    let (site, _worker) = site();
    let repository = Repository::new(&site);
    repository.write("delta-ci.yaml", MATRIX);
    repository.commit();
    repository.git(&["branch", "feature/x"]);
    let run = repository.run(&site, json!({"ref": "feature/x"}));
    let told = run["plan"]["jobs"][0]["reasons"].as_array().expect("a list").iter();
    assert!(told.into_iter().any(|reason| reason["rule"] == "same-version"), "{run}");
    let jobs = run["jobs"].as_array().expect("a list");
    let (failed, others): (Vec<&Value>, Vec<&Value>) = jobs.iter().partition(|job| job["state"] == "FAILED");
    assert_eq!((failed.len(), others.len(), &others[0]["state"]), (1, 1, &json!("SUCCEEDED")), "{run}");
    let id = failed[0]["id"].as_str().expect("an id");
    let job = site.get(&format!("/v1/tenants/default/jobs/{id}")).expect(200);
    assert_eq!(job["attempts"].as_array().map(Vec::len), Some(1), "it is not tried again: {job}");
    assert!(job.to_string().contains("app feature-x is published and holds something else"), "{job}");
    let version = site.get("/v1/tenants/default/packages/app/versions/feature-x").expect(200);
    assert_eq!(version["state"], "published");
}

#[test]
fn without_a_file_projects_are_found() {
    let (site, _worker) = site();
    let repository = Repository::new(&site);
    fs::remove_file(repository.path.join("delta-ci.yaml")).expect("it was there");
    repository.write("Makefile", "test:\n\t@echo from make\n");
    repository.commit();
    let run = repository.run(&site, json!({}));
    assert_eq!((&run["plan"]["source"], &run["outcome"]), (&json!("discovered"), &json!("SUCCESS")), "{run}");
}

#[test]
fn a_newer_run_of_the_group_supersedes_the_older() {
    let (site, _worker) = site();
    let repository = Repository::new(&site);
    let file = "version: 1\nconcurrency: { group: \"{branch}\", cancel: true }\njobs: { slow: { run: sleep 600 } }\n";
    repository.write("delta-ci.yaml", file);
    repository.commit();
    let asked = json!({"repository": format!("file://{}", repository.path.display()), "ref": "main"});
    let older = site.post("/v1/tenants/default/runs", &asked).expect(201);
    let path = format!("/v1/tenants/default/runs/{}", older["id"].as_str().expect("an id"));
    until("it runs", || (site.get(&path).expect(200)["state"] == "RUNNING").then_some(()));
    repository.write("delta-ci.yaml", &file.replace("sleep 600", "'true'"));
    repository.commit();
    let newer = repository.run(&site, json!({}));
    assert_eq!(newer["outcome"], "SUCCESS", "{newer}");
    let older = until("the older one is over", || {
        let run = site.get(&path).expect(200);
        run["finished_at"].is_string().then_some(run)
    });
    assert_eq!(older["outcome"], "CANCELED");
    assert!(older["status_message"].as_str().expect("words").contains(newer["id"].as_str().expect("an id")));
}
