//! Two servers on one PostgreSQL: every run ends, no job is done twice, nobody waits for ever.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use decisions::jobs::{CancelJob, SubmitJob};
use decisions::leases::{Ack, Complete, Lease, Wanted};
use decisions::records::{Concurrency, Plan, PlanJob, Queue, Trust};
use decisions::runs::{CancelRun, CreateRun, PlanAccepted, RunOrigin};
use decisions::tenants::EnsureTenant;
use decisions::{Answer, Command, Policy, Refusal};
use futures_util::future::join_all;
use machines::{execution, job, run};
use serde_json::value::RawValue;
use server::perform::Failure;
use server::{Clock, Engine, Mint, doctor, ticks};
use store::{Postgres, Store};
use tokio::runtime::Builder;
use tokio::time::timeout;
use wire::runner::CompleteStatus;
use wire::{JobId, RunId, RunnerId, TenantId};

use crate::stores::{InDatabase, Place};

/// Far beyond what any of these takes; a livelock ends here instead of never.
const PATIENCE: Duration = Duration::from_secs(60);

const ROUNDS: usize = 200;

/// Jobs that both servers work on at once.
const JOBS: usize = 100;

/// Rounds that are under way at once.
const ROUNDS_AT_ONCE: usize = 50;

/// The most ticks until nothing is due.
const TICKS_MAX: usize = 50;

#[derive(Clone)]
struct Servers {
    a: Engine<Postgres>,
    b: Engine<Postgres>,
    tenant: TenantId,
}

impl Servers {
    async fn start(policy: Policy) -> Servers {
        let place = InDatabase::new();
        let start = |store: Arc<Postgres>| Engine::start(store, Clock::start(), policy.clone());
        let (a, b) = (start(place.open().await), start(place.open().await));
        let ensure = || EnsureTenant { id: Mint.tenant(a.clock().now()), name: "default".into() };
        let answers = tokio::join!(a.perform(ensure()), b.perform(ensure()));
        match answers {
            (Ok(Answer::TenantReady(tenant)), Ok(Answer::TenantReady(same))) if tenant == same => {
                Servers { a, b, tenant }
            }
            other => panic!("two servers made one tenant: {other:?}"),
        }
    }

    async fn submit(&self) -> JobId {
        let id = Mint.job(self.a.clock().now());
        let command = SubmitJob {
            id,
            tenant: self.tenant,
            key: None,
            payload: RawValue::from_string("{}".into()).unwrap(),
            runs_on: Vec::new(),
            priority: 0,
            attempts_max: None,
            timeout_seconds: None,
            effect_once: false,
        };
        must(&self.a, command).await;
        id
    }

    /// A run and its jobs.
    async fn run_of(&self, names: &[&str], trigger_key: Option<String>) -> (RunId, Vec<JobId>) {
        let job = |name: &&str| serde_json::json!({ "name": name, "spec": {} });
        let plan: Vec<PlanJob> =
            names.iter().map(|name| serde_json::from_value(job(name)).unwrap()).collect();
        let command = CreateRun {
            id: Mint.run(self.a.clock().now()),
            tenant: self.tenant,
            trigger_key,
            origin: RunOrigin::default(),
            trust: Trust::default(),
            fail_fast: false,
            plan: Some(plan.into()),
        };
        let id = command.id;
        must(&self.a, command).await;
        let before = RunId::from_u128(id.as_u128() - 1);
        let file = self.a.store().run_files_after(Some(before), 1).await.unwrap().remove(0);
        assert_eq!(file.run.id, id);
        (id, file.jobs.iter().map(|job| job.id).collect())
    }

    fn cancel(&self, job: JobId) -> CancelJob {
        CancelJob { tenant: self.tenant, job }
    }

    fn cancel_run(&self, run: RunId) -> CancelRun {
        CancelRun { tenant: self.tenant, run, reason: "enough".into() }
    }

    async fn run_record(&self, id: RunId) -> decisions::records::Run {
        self.a.store().run(id).await.unwrap().unwrap()
    }

    /// Both tick until nothing moves.
    async fn settle(&self) {
        for _ in 0..TICKS_MAX {
            let moved = tokio::join!(ticks::round(&self.a), ticks::round(&self.b));
            if moved == (Ok(0), Ok(0)) {
                return;
            }
        }
        panic!("after {TICKS_MAX} ticks something is still due");
    }

    async fn stop_and_examine(self) {
        tokio::join!(self.a.stop(), self.b.stop());
        let report = doctor::examine(self.a.store(), |_| ()).await.unwrap();
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
    }
}

async fn must(engine: &Engine<Postgres>, command: impl Into<Command>) -> Answer {
    engine.perform(command).await.unwrap_or_else(|failure| panic!("{failure}"))
}

/// A lease that was granted and acknowledged.
async fn leased(engine: &Engine<Postgres>, runner: &str, wanted: Wanted) -> Option<(JobId, Complete)> {
    let runner = RunnerId::parse(runner).unwrap();
    let execution = Mint.execution(engine.clock().now());
    let lease = Mint.lease(execution);
    let key = lease.key();
    let job = match must(
        engine,
        Lease { runner: runner.clone(), tenant: None, capabilities: vec![], wanted, execution, lease },
    )
    .await
    {
        Answer::Granted(granted) => granted.job,
        Answer::NoWork { .. } => return None,
        other => panic!("{other:?}"),
    };
    must(engine, Ack { lease: key, runner: runner.clone() }).await;
    let (summary, artifacts) = (String::new(), "[]".to_owned());
    Some((
        job,
        Complete {
            lease: key,
            runner,
            status: CompleteStatus::Succeeded,
            exit_code: 0,
            summary,
            artifacts,
            stored: None,
            saves: None,
        },
    ))
}

/// Rounds of one story, many at once, each with its number.
async fn rounds<F: Future<Output = ()> + Send + 'static>(servers: &Servers, story: fn(Servers, usize) -> F) {
    let mut next = 0;
    while next < ROUNDS {
        let numbers = next..(next + ROUNDS_AT_ONCE).min(ROUNDS);
        next = numbers.end;
        let told = numbers.map(|number| tokio::spawn(story(servers.clone(), number)));
        for told in join_all(told).await {
            told.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        }
    }
}

fn in_time<T>(story: impl Future<Output = T>) -> T {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { timeout(PATIENCE, story).await.expect("it ends within its bound") })
}

#[test]
fn the_last_two_jobs_of_a_run_finished_on_two_servers_end_it() {
    async fn story(servers: Servers, _: usize) {
        let (run, jobs) = servers.run_of(&["left", "right"], None).await;
        let (_, left) = leased(&servers.a, "x", Wanted::Job(jobs[0])).await.unwrap();
        let (_, right) = leased(&servers.b, "y", Wanted::Job(jobs[1])).await.unwrap();
        let answers = tokio::join!(servers.a.perform(left), servers.b.perform(right));
        let accepted = Ok(Answer::Completed { accepted: true });
        assert_eq!(answers, (accepted.clone(), accepted));
        let record = servers.run_record(run).await;
        assert_eq!((record.jobs_open, record.outcome), (0, Some(run::State::Success)));
    }
    in_time(async {
        let servers = Servers::start(Policy::default()).await;
        rounds(&servers, story).await;
        servers.stop_and_examine().await;
    });
}

#[test]
fn a_cancel_on_one_server_and_a_completion_on_the_other_have_one_winner() {
    async fn story(servers: Servers, number: usize) {
        let job = servers.submit().await;
        let (_, complete) = leased(&servers.a, "x", Wanted::Job(job)).await.unwrap();
        let (first, second) =
            if number.is_multiple_of(2) { (&servers.a, &servers.b) } else { (&servers.b, &servers.a) };
        let (completed, canceled) =
            tokio::join!(first.perform(complete), second.perform(servers.cancel(job)));
        let state = servers.b.store().job_file(job).await.unwrap().unwrap().job.state;
        match (completed, canceled) {
            (Ok(Answer::Completed { accepted: true }), Err(Failure::Refused(Refusal::JobOver { .. }))) => {
                assert_eq!(state, job::State::Succeeded);
            }
            (Ok(Answer::Completed { accepted: false }), Ok(Answer::CancelTaken { over: false })) => {
                assert_eq!(state, job::State::Canceled);
            }
            other => panic!("both won or both lost: {other:?}"),
        }
    }
    in_time(async {
        let servers = Servers::start(Policy::default()).await;
        rounds(&servers, story).await;
        servers.stop_and_examine().await;
    });
}

#[test]
fn a_run_cancelled_on_one_server_while_its_jobs_end_on_the_other_ends() {
    async fn story(servers: Servers, _: usize) {
        let (run, jobs) = servers.run_of(&["left", "right", "waiting"], None).await;
        let (_, left) = leased(&servers.a, "x", Wanted::Job(jobs[0])).await.unwrap();
        let (_, right) = leased(&servers.b, "y", Wanted::Job(jobs[1])).await.unwrap();
        let (canceled, left, right) = tokio::join!(
            servers.b.perform(servers.cancel_run(run)),
            servers.a.perform(left),
            servers.b.perform(right),
        );
        assert_eq!(canceled, Ok(Answer::CancelTaken { over: false }));
        assert!(left.is_ok() && right.is_ok(), "{left:?} {right:?}");
    }
    in_time(async {
        let servers = Servers::start(Policy::default()).await;
        rounds(&servers, story).await;
        servers.settle().await;
        let runs = servers.a.store().run_files_after(None, ROUNDS + 1).await.unwrap();
        assert_eq!(runs.len(), ROUNDS);
        for file in runs {
            assert_eq!((file.run.jobs_open, file.run.outcome), (0, Some(run::State::Canceled)));
        }
        servers.stop_and_examine().await;
    });
}

#[test]
fn two_servers_lease_from_one_queue_and_do_each_job_once() {
    const RUNNERS: usize = 6;
    async fn runner(servers: Servers, number: usize, done: Arc<AtomicUsize>) -> Vec<JobId> {
        let engine = if number.is_multiple_of(2) { &servers.a } else { &servers.b };
        let queue = Queue::for_requirements(servers.tenant, &[]).id;
        let mut jobs = Vec::new();
        while done.load(Ordering::SeqCst) < JOBS {
            let Some((job, complete)) = leased(engine, &format!("r{number}"), Wanted::Any(vec![queue])).await
            else {
                tokio::task::yield_now().await; // the rest is with others
                continue;
            };
            assert_eq!(must(engine, complete).await, Answer::Completed { accepted: true });
            jobs.push(job);
            done.fetch_add(1, Ordering::SeqCst);
        }
        jobs
    }
    in_time(async {
        let servers = Servers::start(Policy::default()).await;
        let submitted: BTreeSet<JobId> =
            join_all((0..JOBS).map(|_| servers.submit())).await.into_iter().collect();
        let done = Arc::new(AtomicUsize::new(0));
        let runners = (0..RUNNERS).map(|number| tokio::spawn(runner(servers.clone(), number, done.clone())));
        let finished = join_all(runners).await.into_iter().flat_map(|jobs| jobs.unwrap());
        let finished: Vec<JobId> = finished.collect();
        assert_eq!(finished.len(), JOBS, "no job was done twice");
        assert_eq!(finished.iter().copied().collect::<BTreeSet<_>>(), submitted);
        for file in servers.b.store().job_files_after(None, JOBS + 1).await.unwrap() {
            assert_eq!(file.job.state, job::State::Succeeded);
            let statuses: Vec<_> = file.executions.iter().map(|execution| execution.status.get()).collect();
            assert_eq!(statuses, [execution::State::Done], "{}", file.job.id);
        }
        servers.stop_and_examine().await;
    });
}

/// Leases whose window closes at once: both servers' ticks find all of them.
#[test]
fn two_servers_that_rescue_the_same_leases_rescue_each_once() {
    in_time(async {
        let policy = Policy { ack_timeout: Duration::ZERO, ..Policy::default() };
        let servers = Servers::start(policy).await;
        let jobs = join_all((0..JOBS).map(|_| servers.submit())).await;
        join_all(jobs.iter().enumerate().map(|(number, job)| {
            let execution = Mint.execution(servers.a.clock().now());
            let lease = Lease {
                runner: RunnerId::parse(&format!("r{number}")).unwrap(),
                tenant: None,
                capabilities: vec![],
                wanted: Wanted::Job(*job),
                execution,
                lease: Mint.lease(execution),
            };
            must(if number.is_multiple_of(2) { &servers.a } else { &servers.b }, lease)
        }))
        .await;
        let (a, b) = tokio::join!(ticks::round(&servers.a), ticks::round(&servers.b));
        assert_eq!(a.unwrap() + b.unwrap(), JOBS);
        servers.settle().await;
        for file in servers.a.store().job_files_after(None, JOBS + 1).await.unwrap() {
            let revoked =
                file.events.iter().filter(|event| event.machine == "lease" && event.to == "REVOKED");
            assert_eq!((revoked.count(), file.ready.len()), (1, 1), "{}", file.job.id);
        }
        servers.stop_and_examine().await;
    });
}

#[test]
fn one_trigger_on_two_servers_is_one_run() {
    async fn story(servers: Servers, number: usize) {
        let create = |engine: &Engine<Postgres>| CreateRun {
            id: Mint.run(engine.clock().now()),
            tenant: servers.tenant,
            trigger_key: Some(format!("push-{number}")),
            origin: RunOrigin::default(),
            trust: Trust::default(),
            fail_fast: false,
            plan: None,
        };
        let (a, b) = (create(&servers.a), create(&servers.b));
        match tokio::join!(servers.a.perform(a), servers.b.perform(b)) {
            (
                Ok(Answer::RunCreated { run, existing: first }),
                Ok(Answer::RunCreated { run: same, existing: second }),
            ) => assert!(run == same && first != second, "{run} {same} {first} {second}"),
            other => panic!("{other:?}"),
        }
    }
    in_time(async {
        let servers = Servers::start(Policy::default()).await;
        rounds(&servers, story).await;
        servers.stop_and_examine().await;
    });
}

#[test]
fn of_two_runs_that_are_planned_at_once_the_newer_goes_on() {
    async fn story(servers: Servers, number: usize) {
        let create = || CreateRun {
            id: Mint.run(servers.a.clock().now()),
            tenant: servers.tenant,
            trigger_key: None,
            origin: RunOrigin::default(),
            trust: Trust::default(),
            fail_fast: false,
            plan: None,
        };
        let (one, two) = (create(), create());
        let (older, newer) = (one.id.min(two.id), one.id.max(two.id));
        must(&servers.a, one).await;
        must(&servers.b, two).await;
        let job = serde_json::json!({ "name": "a", "spec": {} });
        let concurrency = Some(Concurrency { group: format!("branch-{number}"), cancel: true });
        let jobs: Vec<PlanJob> = vec![serde_json::from_value(job).unwrap()];
        let planned = |run| PlanAccepted {
            run,
            plan: Plan { concurrency: concurrency.clone(), ..jobs.clone().into() },
        };
        let (first, second) = if number.is_multiple_of(2) { (older, newer) } else { (newer, older) };
        let answers = tokio::join!(servers.a.perform(planned(first)), servers.b.perform(planned(second)));
        assert_eq!(answers, (Ok(Answer::PlanTaken), Ok(Answer::PlanTaken)));
        let (older, newer) = (servers.run_record(older).await, servers.run_record(newer).await);
        assert!(older.is_stopping(), "both go on: {older:#?}");
        assert_eq!(older.status_message, format!("superseded by {}", newer.id));
        assert_eq!(newer.state.get(), run::State::Queued);
    }
    in_time(async {
        let servers = Servers::start(Policy::default()).await;
        rounds(&servers, story).await;
        servers.settle().await;
        servers.stop_and_examine().await;
    });
}
