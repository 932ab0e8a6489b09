//! Publications: the policy is asked first, about exactly what is then published.

use decisions::records::{Version, VersionName};
use decisions::versions::{PublishVersion, RestoreVersion, Verdict, content_hash};
use decisions::{Answer, Command, Refusal};
use machines::version;
use store::Store;

use crate::Failure;
use crate::artifacts::judge::{Case, CaseEntry};
use crate::artifacts::{Artifacts, Trouble};
use crate::engine::Engine;

/// A draft that is made anew all the time is left to whoever does that.
const TRIES_MAX: usize = 3;

pub async fn find<S: Store>(engine: &Engine<S>, name: &VersionName) -> Result<Version, Trouble> {
    engine.store().version(name).await?.ok_or_else(|| Refusal::VersionNotFound.into())
}

/// `release`: by an administrator, who may let pass what the policy held back.
pub async fn publish<S: Store>(
    artifacts: &Artifacts,
    engine: &Engine<S>,
    name: &VersionName,
    actor: &'static str,
    release: bool,
) -> Result<Version, Trouble> {
    for _ in 0..TRIES_MAX {
        let version = find(engine, name).await?;
        let asked = version.state.get() == version::State::Draft && version.quarantine.is_none();
        // Of the others the verdict does not count: they are what they are.
        let verdict = if asked { judge(artifacts, engine, &version, actor).await? } else { Verdict::Allow };
        let judged = content_hash(&version.entries);
        let command = PublishVersion { name: name.clone(), verdict, judged, release };
        match perform(engine, command).await {
            Err(Trouble::Failed(Failure::Refused(Refusal::VersionChanged))) => {}
            answer => return answer,
        }
    }
    Err(Refusal::VersionChanged.into())
}

pub async fn restore<S: Store>(
    artifacts: &Artifacts,
    engine: &Engine<S>,
    name: &VersionName,
    actor: &'static str,
) -> Result<Version, Trouble> {
    let version = find(engine, name).await?;
    let asked = version.state.get() == version::State::Tombstoned && !version.purged;
    let verdict = if asked { judge(artifacts, engine, &version, actor).await? } else { Verdict::Allow };
    perform(engine, RestoreVersion { name: name.clone(), verdict }).await
}

async fn judge<S: Store>(
    artifacts: &Artifacts,
    engine: &Engine<S>,
    version: &Version,
    actor: &'static str,
) -> Result<Verdict, Trouble> {
    if artifacts.judge.is_absent() {
        return Ok(Verdict::Allow);
    }
    let VersionName { tenant: tenant_id, package, version: named } = &version.name;
    let tenant = engine.store().tenant(*tenant_id).await?.ok_or(Refusal::TenantNotFound)?;
    let entries = version.entries.iter().map(|entry| CaseEntry {
        path: &entry.path,
        digest: entry.digest,
        length: entry.length,
    });
    let (tenant, tenant_id) = (tenant.name.as_str(), *tenant_id);
    let case =
        Case { tenant, tenant_id, package, version: named, entries: entries.collect(), actor, job: None };
    artifacts.judge.verdict(&case).await
}

pub async fn perform<S: Store>(engine: &Engine<S>, command: impl Into<Command>) -> Result<Version, Trouble> {
    match engine.perform(command).await? {
        Answer::VersionIs { version, .. } => Ok(*version),
        Answer::Quarantined { reason } => Err(Trouble::Quarantined { reason }),
        _ => Err(Trouble::Mistake),
    }
}
