//! The judge: what the policy says to a publication. No verdict is a no: nothing is published without one.
//!
//! A policy is a Rego file that we evaluate, or an endpoint that answers like OPA. Without either everything is allowed.

mod rego;
mod remote;

use std::path::Path;
use std::time::Duration;

use decisions::versions::Verdict;
use serde::{Deserialize, Serialize};
use wire::{Digest, ExecId, JobId, RunId, TenantId};

use crate::artifacts::Trouble;

/// How long a verdict may take.
pub const JUDGING_TIME_MAX: Duration = Duration::from_secs(2);

/// The longest reason that is kept.
const REASON_BYTES_MAX: usize = 1_024;

/// Why a server with this policy does not start.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error("the policy cannot be read")]
    Read(#[from] std::io::Error),
    #[error("the policy is no Rego: {0}")]
    Rego(String),
    #[error("the policy's address is none: expected http:// or https://, and a host")]
    Address,
}

/// Cheap to clone.
#[derive(Clone, Default)]
pub enum Judge {
    /// Nobody asked for one: everything is allowed.
    #[default]
    Absent,
    Rego(rego::Rego),
    Remote(Box<remote::Remote>),
}

/// What is to be published, as the policy sees it.
#[derive(Debug, Serialize)]
pub struct Case<'c> {
    pub tenant: &'c str,
    pub tenant_id: TenantId,
    pub package: &'c str,
    pub version: &'c str,
    pub entries: Vec<CaseEntry<'c>>,
    /// `admin`, `tenant` or `job`.
    pub actor: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<CaseJob<'c>>,
}

#[derive(Debug, Serialize)]
pub struct CaseEntry<'c> {
    pub path: &'c str,
    pub digest: Digest,
    pub length: u64,
}

#[derive(Debug, Serialize)]
pub struct CaseJob<'c> {
    pub id: JobId,
    pub name: &'c str,
    pub run_id: Option<RunId>,
    pub exec_id: ExecId,
}

/// What a policy must answer, word for word.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Allow,
    Quarantine,
}

#[derive(Debug, Deserialize)]
struct Answer {
    decision: Decision,
    #[serde(default)]
    reason: String,
}

impl Judge {
    /// A Rego file; its rule `data.deltaci.publish` decides.
    pub fn from_file(path: &Path) -> Result<Judge, PolicyError> {
        Judge::from_rego(&path.display().to_string(), std::fs::read_to_string(path)?)
    }

    pub fn from_rego(name: &str, text: String) -> Result<Judge, PolicyError> {
        rego::Rego::new(name, text).map(Judge::Rego)
    }

    /// An endpoint that takes `{"input":…}` and answers `{"result":…}`.
    pub fn from_address(address: &str) -> Result<Judge, PolicyError> {
        remote::Remote::new(address).map(Box::new).map(Judge::Remote)
    }

    /// Nobody needs to gather a case that nobody looks at.
    pub fn is_absent(&self) -> bool {
        matches!(self, Judge::Absent)
    }

    pub async fn verdict(&self, case: &Case<'_>) -> Result<Verdict, Trouble> {
        let judging = async {
            let input = || serde_json::to_string(case).map_err(|error| error.to_string());
            match self {
                Judge::Absent => Ok(Verdict::Allow),
                Judge::Rego(rego) => read(&rego.evaluate(input()?).await?),
                Judge::Remote(remote) => read(&remote.ask(input()?).await?),
            }
        };
        let judged = tokio::time::timeout(JUDGING_TIME_MAX, judging).await;
        judged.unwrap_or_else(|_| Err("it took too long".into())).map_err(Trouble::NotJudged)
    }
}

/// A verdict, if the text is exactly one.
fn read(json: &str) -> Result<Verdict, String> {
    let answer: Answer = serde_json::from_str(json).map_err(|error| format!("no verdict: {error}"))?;
    Ok(match answer.decision {
        Decision::Allow => Verdict::Allow,
        Decision::Quarantine => {
            let reason = decisions::policy::shortened(answer.reason.trim(), REASON_BYTES_MAX);
            let reason = if reason.is_empty() { "the policy gives no reason" } else { reason };
            Verdict::Quarantine { reason: reason.into() }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> Case<'static> {
        let entry = CaseEntry { path: "bin/app", digest: Digest::from_bytes([1; 32]), length: 7 };
        Case {
            tenant: "acme",
            tenant_id: TenantId::from_u128(1),
            package: "app",
            version: "1",
            entries: vec![entry],
            actor: "tenant",
            job: None,
        }
    }

    async fn judged(rule: &str) -> Result<Verdict, Trouble> {
        let text = format!("package deltaci\n{rule}\n");
        Judge::from_rego("test.rego", text).expect("it is Rego").verdict(&case()).await
    }

    #[tokio::test]
    async fn a_rule_allows_or_holds_back() {
        let allow = r#"publish := {"decision": "allow"} if input.tenant == "acme""#;
        assert_eq!(judged(allow).await.expect("a verdict"), Verdict::Allow);
        let hold = r#"publish := {"decision": "quarantine", "reason": sprintf("%v has %d bytes", [e.path, e.length])} if some e in input.entries"#;
        let reason = "bin/app has 7 bytes".to_string();
        assert_eq!(judged(hold).await.expect("a verdict"), Verdict::Quarantine { reason });
    }

    #[tokio::test]
    async fn anything_else_is_no_verdict() {
        for rule in [
            "other := 1",
            r#"publish := {"decision": "allow"} if input.tenant == "beta""#,
            r#"publish := {"decision": "Allow"}"#,
            r#"publish := {"reason": "none"}"#,
            "publish := true",
            r#"publish := "allow""#,
            "publish := 1 / 0",
            r#"publish := {"decision": "allow"} if count([1 | some i in numbers.range(1, 3000); some j in numbers.range(1, 3000); i != j]) > 1"#,
        ] {
            let answer = judged(rule).await;
            assert!(matches!(answer, Err(Trouble::NotJudged(_))), "{rule}: {answer:?}");
        }
        assert!(Judge::from_rego("test.rego", "no rego at all {".into()).is_err());
    }

    #[tokio::test]
    async fn an_endpoint_that_is_away_gives_no_verdict() {
        let judge = Judge::from_address("http://127.0.0.1:9/v1/data/deltaci/publish").expect("an address");
        assert!(matches!(judge.verdict(&case()).await, Err(Trouble::NotJudged(_))));
        for address in ["", "opa", "ftp://host/", "http://"] {
            assert!(Judge::from_address(address).is_err(), "{address}");
        }
    }
}
