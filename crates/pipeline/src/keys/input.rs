//! The key of a job's inputs.

use decisions::records::Trust;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use wire::Digest;
use wire::runner::JobSpec;

use super::canonical::canonical;

/// Changes when keys are made in another way, so that old successes are not taken for new ones.
const VERSION: &[u8] = b"delta-ci input key 1";

pub struct Inputs<'a> {
    /// As the runner gets it. Its name and where it takes its files from do not count.
    pub spec: &'a JobSpec,
    pub runs_on: &'a [String],
    /// The digest of the files it depends on, if there are any.
    pub files: Option<[u8; 32]>,
}

/// `needs` are the keys of all jobs it needs, made with the same trust. Their order does not matter.
pub fn input_key(trust: Trust, inputs: &Inputs, needs: &[Digest]) -> Digest {
    let mut hash = Framed::new();
    hash.add(VERSION);
    hash.add(trust.as_str().as_bytes());
    hash.add(specification(inputs.spec).as_bytes());
    hash.all(inputs.runs_on.iter().map(String::as_bytes));
    hash.all(inputs.files.iter().map(<[u8; 32]>::as_slice));
    hash.all(needs.iter().map(|key| key.as_bytes().as_slice()));
    Digest::from_bytes(hash.finish())
}

fn specification(spec: &JobSpec) -> String {
    let mut value = serde_json::to_value(spec).expect("a specification is plain data");
    if let Value::Object(fields) = &mut value {
        fields.remove("name");
        fields.remove("checkout");
    }
    canonical(&value)
}

/// A hash over parts, each preceded by its length: parts cannot be taken for one another.
pub struct Framed(Sha256);

impl Framed {
    pub fn new() -> Framed {
        Framed(Sha256::new())
    }

    pub fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    /// A set: sorted, each part once, preceded by how many they are.
    pub fn all<'a>(&mut self, parts: impl Iterator<Item = &'a [u8]>) {
        let mut parts: Vec<&[u8]> = parts.collect();
        parts.sort_unstable();
        parts.dedup();
        self.0.update((parts.len() as u64).to_be_bytes());
        parts.into_iter().for_each(|part| self.add(part));
    }

    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}
