//! The story: steps in order, each with what it does and how to see that it was done.
//!
//! All ids are the same in every telling, so that a story that was cut short can be gone on with: a step that was done is
//! passed over, and nothing can be there twice without a check that finds it.

use std::ops::Range;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use decisions::deliveries::{ClaimDelivery, DeliveryDelivered};
use decisions::jobs::SubmitJob;
use decisions::leases::{Ack, Commit, Complete, Heartbeat, Lease, Wanted};
use decisions::logs::AppendLog;
use decisions::records::{Delivery, Execution, Version, VersionName, WebhookKey};
use decisions::tenants::{EnsureTenant, PutWebhook};
use decisions::versions::CreateVersion;
use machines::{delivery, lease, version};
use serde_json::json;
use serde_json::value::to_raw_value;
use server::artifacts::{small, versions};
use store::Store;
use wire::runner::{CompleteStatus, Effect, Phase};
use wire::{ExecId, JobId, LeaseId, RunnerId, TenantId, Time, VersionId};

use super::site::{Said, Site, words};
use super::uploads::{self, PARTS, STREAM};
use crate::artifacts::yard::digest;

pub const BORN: Time = Time::from_seconds(1_767_513_600);
const LOG: &[u8] = b"compiling\ntesting\ndone\n";
/// So many pages that SQLite's log is put away while the story goes on, and is then written over from its beginning.
const LARGE_BYTES: usize = 4_300_000;

/// All of them, in order.
macro_rules! steps {
    ($($step:ident,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Step {
            $($step,)+
        }

        pub const STEPS: [Step; [$(stringify!($step)),+].len()] = [$(Step::$step),+];
    };
}

steps! {
    Tenant, Subscriber, Submitted, Leased, Acknowledged, Beaten, Logged, Committed, Completed,
    Claimed, Delivered, SmallPut, StreamOpened, StreamBegun, StreamReceived, StreamCommitted,
    PartsOpened, FirstPart, SecondPart, PartsComplete, PartsCommitted, Drafted, Published,
    GarbagePut, Collected, LargeSubmitted, AfterLarge, WrittenOver, Last,
}

use Step::*;

/// Before these the server is stopped and started again.
pub const RESTARTS: [Step; 2] = [SmallPut, GarbagePut];

/// One life of a job and of artifacts, with both restarts and the recovery of a killed server: here every call fails in every
/// way, and the power is cut at every write. What lies outside are hundreds of writes that differ in nothing but their number:
/// before it the first schema and 256 folders, after it a thousand pages of one large job and the way of a full log.
pub const LIFECYCLE: Range<usize> = Submitted as usize..Collected as usize + 1;

pub fn tenant() -> TenantId {
    TenantId::derived(BORN, "story", "tenant")
}

fn job(name: &str) -> JobId {
    JobId::derived(BORN, "story", name)
}

fn execution_id() -> ExecId {
    ExecId::derived(BORN, "story", "execution")
}

fn lease_id() -> LeaseId {
    LeaseId::minted(execution_id(), [7; 32])
}

fn runner() -> RunnerId {
    RunnerId::parse("runner").expect("a name")
}

fn version_name() -> VersionName {
    VersionName { tenant: tenant(), package: "app".into(), version: "1.0".into() }
}

/// In a file.
static SMALL: LazyLock<Vec<u8>> = LazyLock::new(|| uploads::content(b's', 36_000));
static GARBAGE: LazyLock<Vec<u8>> = LazyLock::new(|| uploads::content(b'g', 34_000));
/// Among the records.
static TINY: LazyLock<Vec<u8>> = LazyLock::new(|| uploads::content(b'i', 5_000));
static TINY_GARBAGE: LazyLock<Vec<u8>> = LazyLock::new(|| uploads::content(b'j', 9_000));

/// Does a step.
pub async fn perform(site: &Site, step: Step) -> Said<()> {
    let (lease, runner) = (lease_id().key(), runner());
    match step {
        Tenant => drop(site.perform(EnsureTenant { id: tenant(), name: "one".into() }).await?),
        Subscriber => drop(site.perform(subscriber()).await?),
        Submitted => submit(site, "first", 10).await?,
        LargeSubmitted => submit(site, "large", LARGE_BYTES).await?,
        AfterLarge => submit(site, "after", 10).await?,
        WrittenOver => submit(site, "over", 10).await?,
        Last => submit(site, "last", 10).await?,
        Leased => {
            let wanted = Wanted::Job(job("first"));
            let (execution, lease, capabilities) = (execution_id(), lease_id(), Vec::new());
            let tenant = Some(tenant());
            site.perform(Lease { runner, tenant, capabilities, wanted, execution, lease }).await?;
        }
        Acknowledged => drop(site.perform(Ack { lease, runner }).await?),
        Beaten => {
            site.perform(Heartbeat { lease, runner, phase: Some(Phase::Uploading) }).await?;
        }
        Logged => drop(site.perform(AppendLog { lease, offset: 0, bytes: LOG.into() }).await?),
        Committed => {
            let url = "https://example.com/effect".to_owned();
            let effects = vec![
                Effect::Result { value: json!("charged the card") },
                Effect::Webhook { url, body: json!({}) },
            ];
            site.perform(Commit { lease, runner, effects }).await?;
        }
        Completed => {
            let (status, summary, artifacts) = (CompleteStatus::Succeeded, "well".into(), "[]".into());
            let complete = Complete {
                lease,
                runner,
                status,
                exit_code: 0,
                summary,
                artifacts,
                stored: None,
                saves: None,
            };
            site.perform(complete).await?;
        }
        Claimed => {
            for delivery in deliveries(site).await? {
                site.perform(ClaimDelivery { delivery: delivery.id }).await?;
            }
        }
        Delivered => {
            for Delivery { id: delivery, claims: claim, .. } in deliveries(site).await? {
                site.perform(DeliveryDelivered { delivery, claim }).await?;
            }
        }
        SmallPut => {
            put(site, &TINY).await?;
            put(site, &SMALL).await?;
        }
        StreamOpened | StreamBegun | StreamReceived | StreamCommitted => STREAM.perform(site, step).await?,
        PartsOpened | FirstPart | SecondPart | PartsComplete | PartsCommitted => {
            PARTS.perform(site, step).await?;
        }
        Drafted => {
            let brought = [("stream", STREAM.bytes()), ("parts", PARTS.bytes())];
            let files = [[("small", &SMALL[..]), ("tiny", &TINY[..])], brought].concat();
            let entries = files.iter().map(|(path, bytes)| ((*path).to_owned(), digest(bytes))).collect();
            let id = VersionId::derived(BORN, "story", "version");
            site.perform(CreateVersion { id, name: version_name(), entries }).await?;
        }
        Published => {
            let (artifacts, engine) = (&site.artifacts, &site.engine);
            versions::publish(artifacts, engine, &version_name(), "test", false).await.map_err(words)?;
        }
        GarbagePut => {
            put(site, &TINY_GARBAGE).await?;
            put(site, &GARBAGE).await?;
        }
        Collected => {
            tokio::time::sleep(Duration::from_millis(1)).await; // its grace is over
            site.tidy_up().await?;
            site.collect().await?;
        }
    }
    Ok(())
}

fn subscriber() -> PutWebhook {
    PutWebhook {
        tenant: tenant(),
        name: "listener".into(),
        url: "https://example.com/listener".into(),
        events: vec!["job.finished".into()],
        secret: "a secret of some length".to_owned().into(),
        ordered: true,
    }
}

async fn submit(site: &Site, name: &str, bytes: usize) -> Said<()> {
    let payload = to_raw_value(&json!({ "text": "x".repeat(bytes) })).map_err(words)?;
    let submit = SubmitJob {
        id: job(name),
        tenant: tenant(),
        key: Some(name.into()),
        payload,
        runs_on: Vec::new(),
        priority: 0,
        attempts_max: None,
        timeout_seconds: None,
        effect_once: false,
    };
    site.perform(submit).await.map(drop)
}

async fn put(site: &Site, bytes: &'static [u8]) -> Said<()> {
    let (digest, bytes) = (digest(bytes), Bytes::from_static(bytes));
    let put = small::put(&site.artifacts, &site.engine, (tenant(), None), digest, bytes);
    put.await.map(drop).map_err(words)
}

/// Whether a step was done, however far the story went on after it.
pub async fn is_done(site: &Site, step: Step) -> Said<bool> {
    let store = site.store();
    Ok(match step {
        Tenant => store.tenant(tenant()).await.map_err(words)?.is_some(),
        Subscriber => {
            let key = WebhookKey { tenant: tenant(), name: "listener".into() };
            store.webhook(&key).await.map_err(words)?.is_some()
        }
        Submitted => is_submitted(site, "first").await?,
        LargeSubmitted => is_submitted(site, "large").await?,
        AfterLarge => is_submitted(site, "after").await?,
        WrittenOver => is_submitted(site, "over").await?,
        Last => is_submitted(site, "last").await?,
        Leased => execution(site).await?.is_some(),
        Acknowledged => execution(site).await?.is_some_and(|it| it.lease.get() != lease::State::Granted),
        Beaten => has_moved_to_uploading(site).await?,
        Logged => {
            let chunks = store.log_chunks(execution_id(), 0, LOG.len()).await.map_err(words)?;
            chunks.iter().flat_map(|chunk| chunk.bytes.iter().copied()).eq(LOG.iter().copied())
        }
        Committed => execution(site).await?.is_some_and(|it| it.status.get().has_committed()),
        Completed => execution(site).await?.is_some_and(|it| it.outcome.is_some()),
        Claimed => all_deliveries(site, |it| it.claims > 0).await?,
        Delivered => all_deliveries(site, |it| it.state.get() == delivery::State::Delivered).await?,
        SmallPut => has_blob(site, &SMALL).await? && has_blob(site, &TINY).await?,
        StreamOpened | StreamBegun | StreamReceived | StreamCommitted => STREAM.is_done(site, step).await?,
        PartsOpened | FirstPart | SecondPart | PartsComplete | PartsCommitted => {
            PARTS.is_done(site, step).await?
        }
        Drafted => found_version(site).await?.is_some(),
        Published => match found_version(site).await? {
            Some(it) => it.state.get() == version::State::Published && it.entries.len() == 4,
            None => false,
        },
        GarbagePut => {
            let both = has_blob(site, &GARBAGE).await? && has_blob(site, &TINY_GARBAGE).await?;
            both || collections(site).await? > 0
        }
        Collected => {
            let collector = store.collector().await.map_err(words)?;
            let left = has_blob(site, &GARBAGE).await? || has_blob(site, &TINY_GARBAGE).await?;
            collector.epoch > 0 && collector.running.is_none() && !left
        }
    })
}

async fn is_submitted(site: &Site, name: &str) -> Said<bool> {
    let keyed = site.store().job_keyed(tenant(), name).await.map_err(words)?;
    let file = site.store().job_file(job(name)).await.map_err(words)?;
    match (keyed, file) {
        (None, None) => Ok(false),
        (Some(id), Some(_)) if id == job(name) => Ok(true),
        (keyed, _) => Err(format!("half of the job {name} is there ({keyed:?})")),
    }
}

async fn execution(site: &Site) -> Said<Option<Execution>> {
    let file = site.store().job_file(job("first")).await.map_err(words)?;
    Ok(file.and_then(|file| file.executions.into_iter().find(|it| it.id == execution_id())))
}

async fn has_moved_to_uploading(site: &Site) -> Said<bool> {
    let file = site.store().job_file(job("first")).await.map_err(words)?;
    let mut events = file.into_iter().flat_map(|file| file.events);
    Ok(events.any(|event| format!("{event:?}").to_lowercase().contains("uploading")))
}

async fn deliveries(site: &Site) -> Said<Vec<Delivery>> {
    site.store().deliveries_after(None, 100).await.map_err(words)
}

/// One for the subscriber, one for the effect: both, and no other.
async fn all_deliveries(site: &Site, hold: impl Fn(&Delivery) -> bool) -> Said<bool> {
    let all = deliveries(site).await?;
    Ok(all.len() == 2 && all.iter().all(hold))
}

pub async fn has_blob(site: &Site, bytes: &[u8]) -> Said<bool> {
    let Some(blob) = site.store().blob_of(tenant(), digest(bytes)).await.map_err(words)? else {
        return Ok(false);
    };
    site.is_readable(&blob).await.map(|()| true)
}

async fn found_version(site: &Site) -> Said<Option<Version>> {
    site.store().version(&version_name()).await.map_err(words)
}

async fn collections(site: &Site) -> Said<i64> {
    Ok(site.store().collector().await.map_err(words)?.epoch)
}

/// At the end of the story everything is there, and nothing twice.
pub async fn is_complete(site: &Site) -> Said<()> {
    for step in STEPS.into_iter().filter(|step| *step != LargeSubmitted) {
        if !is_done(site, step).await? {
            return Err(format!("at the end {step:?} is not there"));
        }
    }
    let jobs = site.store().job_files_after(None, 100).await.map_err(words)?;
    let first = jobs.iter().find(|file| file.job.id == job("first")).ok_or("the job is gone")?;
    let jobs_count = 4 + usize::from(is_done(site, LargeSubmitted).await?);
    let counts = (jobs.len(), first.attempts.len(), first.executions.len(), first.effects.len());
    if counts != (jobs_count, 1, 1, 2) {
        return Err(format!("jobs, attempts, executions and effects are {counts:?}"));
    }
    let usage = site.store().usage(tenant()).await.map_err(words)?;
    let bytes = SMALL.len() + TINY.len() + STREAM.bytes().len() + PARTS.bytes().len();
    if (usage.blobs, usage.bytes) != (4, bytes as u64) {
        return Err(format!("the tenant is charged for {usage:?}"));
    }
    Ok(())
}
