//! Versions of packages: a draft until it is published, the same for ever after, withdrawn and brought back within its
//! retention. What it refers to stays for as long as that lasts.

mod content;
mod create;
mod due;
mod publish;
mod restore;
mod tombstone;

use serde_json::json;

pub use content::{check_name, check_path, content_hash};
pub use create::{CreateVersion, draft_version, holds};
pub use due::{BundleDue, VersionDue};
pub use publish::{PublishVersion, publish_draft};
pub use restore::RestoreVersion;
pub use tombstone::TombstoneVersion;

use crate::records::{Version, VersionName};
use crate::tenants::{News, tell};
use crate::{Draft, Refusal};
use machines::Machine;

/// What the policy says to a publication. It is asked before the command, and never by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Quarantine { reason: String },
}

fn named_version(draft: &Draft<'_>, name: &VersionName) -> Option<Version> {
    let made = draft.changes.versions.values().find(|version| version.name == *name);
    let id = made.map(|version| version.id).or_else(|| draft.book().version_names.get(name).copied())?;
    draft.get(&id).cloned()
}

fn known_version(draft: &Draft<'_>, name: &VersionName) -> Result<Version, Refusal> {
    named_version(draft, name).ok_or(Refusal::VersionNotFound)
}

fn tell_of(draft: &mut Draft<'_>, version: &Version, event: &'static str) {
    let body = json!({
        "version_id": version.id, "package": version.name.package, "version": version.name.version,
        "state": version.state.get().as_str(), "content_hash": version.content_hash,
        "entries": version.entries.len(), "quarantine": version.quarantine,
    });
    let tenant = version.name.tenant;
    // A version may be withdrawn and restored many times: each time is news of its own.
    let subject = format!("{}@{}", version.id, draft.now.as_micros());
    let subject = if event == "version.published" { version.id.to_string() } else { subject };
    let news = News { tenant, event, subject, body: &body, reports: None };
    tell(draft, &news);
}
