//! A repository, its pipeline and its past, described line by line:
//!
//! ```text
//! file PATH CONTENT [executable|link|submodule]   a file; again: its new content
//! gone PATH                                       no longer there
//! job NAME [needs=a,b] [paths=x,y] [run=WORD] [once] [soft] [cache=KEY] [publish=VERSION] [on=TAG]
//! success NAME [untrusted]                        the job succeeded with the files as they are here
//! base NAME PATH…                                 what changed since
//! unknown WHY                                     … is not known
//! only NAME…, all, no-reuse, untrusted, discovered, commit ID, branch NAME, group NAME, checkout URL
//! ```
//!
//! In a path or a name `\n`, `\s` (a space), `\\` and `\xff` mean what they do in reasons.

use std::collections::BTreeMap;

use decisions::records::{Concurrency, Plan, Source, Trust};
use pipeline::definition::{Job, Pipeline};
use pipeline::facts::{Difference, Facts, Success, Successes, Wishes};
use pipeline::plan::{Draft, PlanProblem};
use pipeline::tree::{ContentId, File, Kind, Tree};
use wire::runner::{CacheSpec, Checkout, JobSpec, PublishSpec};
use wire::{JobId, RunId};

#[derive(Debug)]
pub struct Scene {
    pub files: BTreeMap<Vec<u8>, File>,
    pub pipeline: Pipeline,
    pub difference: Difference,
    pub commit: Option<String>,
    pub branch: Option<String>,
    pub trust: Trust,
    pub checkout: Option<Checkout>,
    pub wishes: Wishes,
    pub successes: Successes,
}

impl Scene {
    pub fn new() -> Scene {
        Scene {
            files: BTreeMap::new(),
            pipeline: Pipeline {
                source: Source::File,
                concurrency: None,
                fail_fast: false,
                jobs: Vec::new(),
            },
            difference: Difference::NotAsked,
            commit: None,
            branch: None,
            trust: Trust::Trusted,
            checkout: None,
            wishes: Wishes::default(),
            successes: Successes::new(),
        }
    }

    pub fn read(script: &str) -> Scene {
        let mut scene = Scene::new();
        let lines = script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.for_each(|line| scene.add(line));
        scene
    }

    fn add(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let rest = || words[1..].iter().map(|word| word.to_string()).collect::<Vec<_>>();
        match words[0] {
            "file" => self.file(file(words[1], words[2], words.get(3).copied())),
            "gone" => drop(self.files.remove(bytes(words[1]).as_ref())),
            "job" => self.pipeline.jobs.push(job(&unescaped(words[1]), &words[2..])),
            "success" => self.success(words[1], words.get(2).copied()),
            "base" => {
                let changed = words[2..].iter().map(|path| bytes(path)).collect();
                self.difference = Difference::Since { base: words[1].into(), changed };
            }
            "unknown" => self.difference = Difference::Unknown { why: rest().join(" ") },
            "only" => self.wishes.only = rest(),
            "all" => self.wishes.all = true,
            "no-reuse" => self.wishes.no_reuse = true,
            "untrusted" => self.trust = Trust::Untrusted,
            "discovered" => self.pipeline.source = Source::Discovered,
            "commit" => self.commit = Some(words[1].into()),
            "branch" => self.branch = Some(words[1].into()),
            "group" => self.pipeline.concurrency = Some(Concurrency { group: words[1].into(), cancel: true }),
            "checkout" => {
                self.checkout = Some(Checkout { repository: words[1].into(), r#ref: None, commit: None });
            }
            other => panic!("{other} is no word of this script"),
        }
    }

    pub fn file(&mut self, file: File) {
        self.files.insert(file.path.to_vec(), file);
    }

    fn success(&mut self, name: &str, trust: Option<&str>) {
        let trust = trust.map_or(Trust::Trusted, |_| Trust::Untrusted);
        let key = self.key(name, trust).expect("a job with a key");
        let number = self.successes.len() as u128 + 1;
        let success = Success { run: RunId::from_u128(number), job: JobId::from_u128(number << 8) };
        self.successes.insert(key, success);
    }

    pub fn key(&self, name: &str, trust: Trust) -> Option<wire::Digest> {
        let tree = self.tree();
        let facts = Facts { trust, ..self.facts(&tree) };
        let plan = Draft::new(&self.pipeline, &facts).expect("a draft").plan(&Successes::new());
        plan.jobs.iter().find(|job| job.name == name).expect("a job").input_key
    }

    pub fn tree(&self) -> Tree {
        Tree::new(self.files.values().cloned().collect())
    }

    pub fn facts<'a>(&self, tree: &'a Tree) -> Facts<'a> {
        Facts {
            tree,
            difference: self.difference.clone(),
            commit: self.commit.clone(),
            branch: self.branch.clone(),
            trust: self.trust,
            checkout: self.checkout.clone(),
            wishes: self.wishes.clone(),
        }
    }

    pub fn plan(&self) -> Result<Plan, PlanProblem> {
        let tree = self.tree();
        let draft = Draft::new(&self.pipeline, &self.facts(&tree))?;
        let wanted = draft.wanted();
        // Only what was asked for is ever found.
        let found = self.successes.iter().filter(|(key, _)| wanted.contains(key));
        Ok(draft.plan(&found.map(|(key, success)| (*key, success.clone())).collect()))
    }
}

pub fn file(path: &str, content: &str, kind: Option<&str>) -> File {
    let kind = match kind {
        None => Kind::Plain,
        Some("executable") => Kind::Executable,
        Some("link") => Kind::Link,
        Some("submodule") => Kind::Submodule,
        Some(other) => panic!("{other} is no kind of file"),
    };
    let mut id = [0; 32];
    id[..content.len()].copy_from_slice(content.as_bytes());
    File { path: bytes(path), kind, content: ContentId(id) }
}

pub fn job(name: &str, words: &[&str]) -> Job {
    let spec = JobSpec {
        name: name.into(),
        workdir: None,
        image: None,
        steps: vec![format!("do {name}")],
        env: BTreeMap::new(),
        artifacts: Vec::new(),
        caches: Vec::new(),
        checkout: None,
        publish: None,
        network: None,
    };
    let mut job = Job {
        name: name.into(),
        needs: Vec::new(),
        paths: None,
        required: true,
        effect_once: false,
        priority: 0,
        runs_on: Vec::new(),
        attempts_max: None,
        retry_on: None,
        timeout_seconds: None,
        spec,
    };
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let list = || value.split(',').filter(|part| !part.is_empty()).map(String::from).collect::<Vec<_>>();
        match key {
            "needs" => job.needs = list().iter().map(|need| unescaped(need)).collect(),
            "paths" => job.paths = Some(list()),
            "run" => job.spec.steps = vec![value.into()],
            "once" => job.effect_once = true,
            "soft" => job.required = false,
            "on" => job.runs_on = list(),
            "cache" => job.spec.caches.push(CacheSpec {
                r#type: "deps".into(),
                key: value.into(),
                prefix: None,
                paths: vec!["~/.cache".into()],
            }),
            "publish" => {
                job.spec.publish = Some(PublishSpec { package: "app".into(), version: value.into() });
            }
            other => panic!("{other} is no word about a job"),
        }
    }
    job
}

fn unescaped(text: &str) -> String {
    String::from_utf8(bytes(text).into()).expect("a name is text")
}

fn bytes(text: &str) -> Box<[u8]> {
    let (mut bytes, mut letters) = (Vec::new(), text.chars());
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            bytes.extend(letter.to_string().as_bytes());
            continue;
        }
        match letters.next().expect("a letter after the backslash") {
            'n' => bytes.push(b'\n'),
            's' => bytes.push(b' '),
            '\\' => bytes.push(b'\\'),
            'x' => {
                let digits: String = letters.by_ref().take(2).collect();
                bytes.push(u8::from_str_radix(&digits, 16).expect("two hexadecimal digits"));
            }
            other => panic!("\\{other} means nothing here"),
        }
    }
    bytes.into()
}
