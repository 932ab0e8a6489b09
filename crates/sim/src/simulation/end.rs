//! The calm after the storm, and what must be left when everything has come to rest.

use std::collections::BTreeMap;
use std::time::Duration;

use decisions::doctor::{JobFile, check_blob, check_delivery, check_job, check_run};
use decisions::records::Progress;
use machines::{delivery, execution, run, upload};
use store::Store;
use wire::{TenantId, Time};

use super::agent::log_byte;
use super::faults::Class;
use super::parts::now;
use super::rules;
use super::words::Client;
use super::world::{BEGIN, World, tenant};
use crate::history::{self, Op};

/// Within this, everything that was handed in has ended and everybody was told.
const CALM_MAX: Duration = Duration::from_secs(2 * 3_600);
/// Between two looks whether it has.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Two collections, each with its turns of upkeep, whoever works on them.
const COLLECTIONS_MAX: Duration = Duration::from_secs(1_800);
const ALL: usize = 10_000;

impl World {
    pub fn play(&mut self) {
        self.go_on(BEGIN.plus(self.storm));
        self.tell(|| "the storm is over".into());
        self.faults.over = true;
        self.calm();
        if !self.watch.violations.is_empty() {
            return;
        }
        self.rest();
        self.check_end();
    }

    fn calm(&mut self) {
        let deadline = self.now.plus(CALM_MAX);
        while self.watch.violations.is_empty() {
            let open = self.open();
            if open.is_empty() {
                return;
            }
            if self.now >= deadline {
                return self.watch.broke(rules::ENDS, open.join(", "));
            }
            self.redrive(ALL);
            self.go_on(self.now.plus(LOOK_EVERY));
        }
    }

    /// What has not ended, a few of it.
    fn open(&self) -> Vec<String> {
        let jobs = self.watch.jobs.values().filter(|it| !it.state.is_over());
        let jobs = jobs.map(|it| format!("{} {} is {:?}", it.name, it.id, it.state));
        let runs = self.watch.runs.values().filter(|it| it.state.get() != run::State::Reported);
        let runs = runs.map(|it| format!("{} is {:?}", it.id, it.state.get()));
        let messages = self.watch.deliveries.values();
        let messages = messages.filter(|it| it.state.get() != delivery::State::Delivered);
        let messages = messages.map(|it| format!("{} is {:?}", it.id, it.state.get()));
        // An errand that is still under way may open something new.
        let asked = self.network.waiting.values().filter(|it| it.client == Client::Person);
        let asked = asked.map(|it| format!("{:?} is on its way", it.request));
        let publishers = self.publishers.iter().filter(|it| !it.rests()).map(|it| format!("{it:?}"));
        jobs.chain(runs).chain(messages).chain(asked).chain(publishers).take(5).collect()
    }

    /// Until nothing is promised to anybody any more, and two collections have come by after that.
    fn rest(&mut self) {
        self.resting = true;
        let policy = &self.setup.policy;
        let held = policy.upload_ttl + policy.blob_grace + self.setup.retention + Duration::from_secs(60);
        self.go_on(self.now.plus(held));
        let (from, deadline) = (self.now, self.now.plus(COLLECTIONS_MAX));
        while self.collected_since(from) < 2 && self.watch.violations.is_empty() {
            if self.now >= deadline {
                return self.watch.broke(rules::ENDS, "two collections did not come to their end");
            }
            self.go_on(self.now.plus(LOOK_EVERY));
        }
        self.go_on(self.now.plus(Duration::from_secs(60)));
    }

    fn collected_since(&self, from: Time) -> usize {
        let done = self.watch.collections.values().filter(|it| it.state == Progress::Done);
        done.filter(|it| it.started_at >= from).count()
    }

    fn check_end(&mut self) {
        let jobs = now(self.store.job_files_after(None, ALL)).expect("memory can be read");
        let mut broken = Vec::new();
        self.check_same(&jobs, &mut broken);
        self.check_logs(&mut broken);
        self.check_messages(&mut broken);
        self.check_garbage(&mut broken);
        self.ask_the_doctor(&jobs, &mut broken);
        broken.into_iter().for_each(|(rule, what)| self.watch.broke(rule, what));
        self.look_back(&jobs);
        let violations = history::check(&self.history);
        self.watch.violations.extend(violations);
    }

    /// What was written is what is there.
    fn check_same(&self, jobs: &[JobFile], broken: &mut Vec<(&'static str, String)>) {
        let watch = &self.watch;
        if jobs.len() != watch.jobs.len() {
            broken.push((rules::SAME, format!("{} jobs of {}", jobs.len(), watch.jobs.len())));
        }
        for file in jobs {
            let id = file.job.id;
            let same = watch.jobs.get(&id).is_some_and(|it| **it == file.job)
                && file.attempts.iter().eq(watch.attempts_of(id))
                && file.executions.iter().eq(watch.executions_of(id));
            if !same {
                broken.push((rules::SAME, format!("{id} is not as it was written")));
            }
        }
        for run in now(self.store.run_files_after(None, ALL)).expect("memory can be read") {
            if watch.runs.get(&run.run.id).is_none_or(|it| **it != run.run) {
                broken.push((rules::SAME, format!("{} is not as it was written", run.run.id)));
            }
        }
        for delivery in now(self.store.deliveries_after(None, ALL)).expect("memory can be read") {
            if watch.deliveries.get(&delivery.id).is_none_or(|it| **it != delivery) {
                broken.push((rules::SAME, format!("{} is not as it was written", delivery.id)));
            }
        }
    }

    fn check_logs(&self, broken: &mut Vec<(&'static str, String)>) {
        for (id, written) in &self.watch.logs {
            let stored = now(self.store.log(*id)).expect("memory can be read");
            if stored.as_ref() != Some(&**written) {
                broken.push((rules::SAME, format!("the log of {id} is {stored:?}")));
                continue;
            }
            let mut bytes = BTreeMap::new();
            let mut from = 0;
            while from < written.received {
                let chunks = now(self.store.log_chunks(*id, from, 64 << 10)).expect("memory can be read");
                let Some(end) = chunks.last().map(|chunk| chunk.end()).filter(|end| *end > from) else {
                    break;
                };
                for chunk in chunks {
                    bytes.extend((chunk.offset..).zip(chunk.bytes.iter().copied()));
                }
                from = end;
            }
            let kept = (0..written.head).chain(written.tail_from..written.received);
            if let Some(at) = kept.into_iter().find(|at| bytes.get(at) != Some(&log_byte(*id, *at))) {
                broken.push((rules::LOG, format!("the log of {id} lacks byte {at} of {}", written.received)));
            }
        }
    }

    fn check_messages(&self, broken: &mut Vec<(&'static str, String)>) {
        let stored = now(self.store.deliveries_after(None, ALL)).expect("memory can be read");
        for delivery in stored {
            let delivered = delivery.state.get() == delivery::State::Delivered;
            if delivered && !self.sinks.arrived.contains_key(&delivery.id) {
                broken.push((rules::TOLD, format!("{} never arrived", delivery.id)));
            }
        }
    }

    fn check_garbage(&self, broken: &mut Vec<(&'static str, String)>) {
        let unreferenced = now(self.store.blobs_unreferenced(None, ALL)).expect("memory can be read");
        for blob in unreferenced {
            broken.push((rules::GARBAGE, format!("{} is {:?}", blob.id, blob.state.get())));
        }
        for upload in self.watch.uploads.values().filter(|it| it.litter || it.is_open()) {
            broken.push((rules::GARBAGE, format!("{} is {:?}", upload.id, upload.state.get())));
        }
        // Known and let pass: bytes that came a second time while the first were committed, and whose server died before
        // it could take them away. No record names them.
        let committed = |id: &wire::UploadId| {
            self.watch.uploads.get(id).is_some_and(|it| it.state.get() == upload::State::Committed)
        };
        for upload in self.disk.staged().filter(|id| !committed(id)) {
            broken.push((rules::GARBAGE, format!("bytes under {upload}")));
        }
        for id in self.disk.placed() {
            if self.watch.blobs.get(&id).is_none_or(|blob| !blob.is_here()) {
                broken.push((rules::GARBAGE, format!("bytes under {id}")));
            }
        }
        for blob in self.watch.blobs.values().filter(|blob| blob.is_here()) {
            if !self.disk.holds(blob.id, blob.digest) {
                broken.push((rules::REACHABLE, format!("{} is here without its bytes", blob.id)));
            }
        }
        for version in self.watch.versions.values().filter(|it| !it.purged) {
            broken.extend(self.watch.missing_of(version, &self.disk));
        }
        for blob in &self.disk.reused {
            broken.push((rules::PUBLISHED, format!("the key of {blob} was written again")));
        }
        [tenant(1), tenant(2)].into_iter().for_each(|it| broken.extend(self.check_usage(it)));
    }

    fn check_usage(&self, tenant: TenantId) -> Option<(&'static str, String)> {
        let usage = now(self.store.usage(tenant)).expect("memory can be read");
        let brought = self.watch.uploads.values().filter(|it| it.tenant == tenant).filter_map(|it| it.got);
        let here = |id: &wire::BlobId| self.watch.blobs.get(id).is_some_and(|blob| blob.is_here());
        let has: std::collections::BTreeSet<wire::BlobId> = brought.filter(here).collect();
        let bytes: u64 = has.iter().map(|id| self.watch.blobs[id].length).sum();
        (bytes != usage.bytes)
            .then(|| (rules::USAGE, format!("{tenant} has {bytes}, {} are counted", usage.bytes)))
    }

    fn ask_the_doctor(&self, jobs: &[JobFile], broken: &mut Vec<(&'static str, String)>) {
        let runs = now(self.store.run_files_after(None, ALL)).expect("memory can be read");
        let blobs = now(self.store.blob_files_after(None, ALL)).expect("memory can be read");
        let deliveries = self.watch.deliveries.values();
        let findings = jobs.iter().flat_map(check_job).chain(runs.iter().flat_map(check_run));
        let findings = findings.chain(blobs.iter().flat_map(check_blob));
        let findings = findings.chain(deliveries.flat_map(|it| check_delivery(it)));
        let said =
            findings.map(|it| (rules::DOCTOR, format!("{} {}: {}", it.invariant, it.entity, it.problem)));
        broken.extend(said);
    }

    /// What clients were told, held against what is on record.
    fn look_back(&mut self, jobs: &[JobFile]) {
        let mut seen = Vec::new();
        let ended = |item: String| Op::Take { queue: "ended".into(), item };
        let over = jobs.iter().filter(|file| file.job.state.is_over());
        seen.extend(over.filter_map(|file| file.job.key.clone()).map(ended));
        let runs = now(self.store.run_files_after(None, ALL)).expect("memory can be read");
        let over = runs.iter().filter(|file| file.run.is_over());
        seen.extend(over.filter_map(|file| file.run.trigger_key.clone()).map(ended));
        seen.push(Op::Drained { queue: "ended".into() });
        for id in self.watch.logs.keys() {
            let length = now(self.store.log(*id)).expect("memory can be read").map(|log| log.received);
            seen.push(Op::Length { log: id.to_string(), is: length.or(Some(0)) });
        }
        let mut published = Vec::new();
        for number in [1, 2] {
            let versions = now(self.store.versions_of(tenant(number), None, None, ALL));
            let versions = versions.expect("memory can be read");
            let out = versions.iter().filter(|it| it.published_at.is_some());
            published.extend(out.map(|it| format!("{} {}", it.name.tenant, it.name.version)));
        }
        seen.push(Op::Look { set: "published".into(), items: Some(published) });
        seen.into_iter().for_each(|op| self.history.saw("inspector", op));
        let done = |job: &str, token: u64| {
            let file = jobs.iter().find(|file| file.job.id.to_string() == job);
            let executions = file.into_iter().flat_map(|file| file.executions.iter());
            let mut of_token = executions.filter(|it| u64::from(it.token) == token);
            of_token.any(|it| it.status.get() == execution::State::Done)
        };
        let mut lost = Vec::new();
        for entry in self.history.entries().iter().filter(|entry| entry.is_ok()) {
            if let Op::Finish { lease, token } = &entry.op
                && !done(lease, *token)
            {
                lost.push(format!("{} was told that {lease} had succeeded", entry.client));
            }
        }
        lost.into_iter().for_each(|what| self.watch.broke(rules::KEPT, what));
    }

    pub fn faults_by_class(&self) -> BTreeMap<Class, u64> {
        Class::ALL.iter().copied().zip(self.faults.counts).collect()
    }
}
