//! Create a draft: a name, and bytes that the tenant has. A draft may be made anew; a published version never.

use std::collections::BTreeMap;
use std::sync::Arc;

use machines::version;
use wire::{Digest, ExecId, VersionId};

use crate::blobs::{asks_for, possessed, refer, release};
use crate::draft::Stated;
use crate::records::{Entry, Version, VersionName};
use crate::tenants::require_ready;
use crate::versions::{check_name, check_path, named_version};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct CreateVersion {
    /// Minted at the edge.
    pub id: VersionId,
    pub name: VersionName,
    /// Path and digest.
    pub entries: Vec<(String, Digest)>,
}

impl Decide for CreateVersion {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([Ask::Tenant(self.name.tenant), Ask::VersionName(self.name.clone())]);
        self.entries.iter().for_each(|(_, digest)| asks_for(asks, self.name.tenant, *digest));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        require_ready(draft, self.name.tenant)?;
        let (version, existing) = draft_version(draft, self.id, &self.name, &self.entries, None)?;
        Ok(Answer::VersionIs { version: Box::new(version), existing })
    }
}

/// The draft of this name with these entries; whether it was there before. A published one with the same entries will do.
pub fn draft_version(
    draft: &mut Draft<'_>,
    id: VersionId,
    name: &VersionName,
    entries: &[(String, Digest)],
    execution: Option<ExecId>,
) -> Result<(Version, bool), Refusal> {
    check_name("package", &name.package)?;
    check_name("version", &name.version)?;
    let known = named_version(draft, name);
    if let Some(known) = &known
        && holds(&known.entries, entries)
    {
        return Ok((known.clone(), true));
    }
    if known.as_ref().is_some_and(|known| known.state.get() != version::State::Draft) {
        return Err(Refusal::Immutable);
    }
    let entries = resolved(draft, name, entries)?;
    for entry in entries.iter() {
        refer(draft, entry.blob, "a version refers to it");
    }
    let version = match known {
        Some(mut known) => {
            known.entries.iter().for_each(|entry| release(draft, entry.blob));
            known.entries = entries;
            known.updated_at = draft.now;
            known
        }
        None => {
            let made = made(draft, id, name, entries, execution);
            draft.born::<version::State>(&made, "POST versions");
            made
        }
    };
    draft.put(version.clone());
    Ok((version, false))
}

fn made(
    draft: &Draft<'_>,
    id: VersionId,
    name: &VersionName,
    entries: Arc<Vec<Entry>>,
    execution: Option<ExecId>,
) -> Version {
    Version {
        id,
        name: name.clone(),
        state: Stated::initial(),
        quarantine: None,
        entries,
        content_hash: None,
        execution,
        retention_until: None,
        purged: false,
        created_at: draft.now,
        updated_at: draft.now,
        published_at: None,
    }
}

/// Exactly these, whatever their order.
pub fn holds(known: &[Entry], entries: &[(String, Digest)]) -> bool {
    let wanted: BTreeMap<&str, Digest> =
        entries.iter().map(|(path, digest)| (path.as_str(), *digest)).collect();
    wanted.len() == entries.len()
        && known.len() == wanted.len()
        && known.iter().all(|entry| wanted.get(entry.path.as_str()) == Some(&entry.digest))
}

/// By path; each path once; each of bytes that the tenant has.
fn resolved(
    draft: &Draft<'_>,
    name: &VersionName,
    entries: &[(String, Digest)],
) -> Result<Arc<Vec<Entry>>, Refusal> {
    let most = draft.policy.version_entries_max;
    if entries.len() > most {
        let problem = format!("{} entries; at most {most}", entries.len());
        return Err(Refusal::InvalidInput { field: "entries", problem });
    }
    let mut by_path = BTreeMap::new();
    for (path, digest) in entries {
        check_path(path)?;
        let blob = possessed(draft, name.tenant, *digest).ok_or(Refusal::BlobMissing { digest: *digest })?;
        let entry = Entry { path: path.clone(), digest: *digest, length: blob.length, blob: blob.id };
        if by_path.insert(path.clone(), entry).is_some() {
            let problem = format!("`{path}` is there twice");
            return Err(Refusal::InvalidInput { field: "entries", problem });
        }
    }
    Ok(Arc::new(by_path.into_values().collect()))
}
