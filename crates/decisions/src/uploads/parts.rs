//! Parts: promised with their lengths, sent by anybody who has their addresses, complete when all of them are here.

use std::collections::BTreeMap;

use machines::upload;
use wire::{TenantId, UploadId};

use crate::uploads::open_upload;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct StartParts {
    pub tenant: TenantId,
    pub upload: UploadId,
    pub lengths: Vec<u64>,
    /// The object store's own name for them.
    pub multipart: Option<String>,
}

impl Decide for StartParts {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Upload(self.upload));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut upload = open_upload(draft, self.tenant, self.upload)?;
        match upload.state.get() {
            upload::State::PartsUploading if upload.parts == self.lengths => {
                return Ok(Answer::UploadIs(Box::new(upload))); // said twice: the first addresses hold
            }
            upload::State::Initiated => {}
            upload::State::PartsUploading | upload::State::PendingCommit => {
                return Err(Refusal::UploadInParts);
            }
            upload::State::Committed | upload::State::Aborted => unreachable!("it is open"),
        }
        self.check(upload.length, draft.policy.upload_parts_max)?;
        draft.advance(&mut upload, upload::Event::StartPartsUpload, "POST parts");
        upload.parts = self.lengths.clone();
        upload.multipart = self.multipart.clone();
        upload.updated_at = draft.now;
        draft.put(upload.clone());
        Ok(Answer::UploadIs(Box::new(upload)))
    }
}

impl StartParts {
    /// Also asked before the object store is, so that nothing is begun there for parts that will be refused.
    pub fn check(&self, length: u64, most: usize) -> Result<(), Refusal> {
        let sum = self.lengths.iter().try_fold(0u64, |sum, length| sum.checked_add(*length));
        let problem = if self.lengths.is_empty() || self.lengths.len() > most {
            format!("between 1 and {most} parts")
        } else if self.lengths.len() > 1 && self.lengths.contains(&0) {
            "no part may be empty".into()
        } else if sum != Some(length) {
            format!("together they must be {length} bytes, as announced")
        } else {
            return Ok(());
        };
        Err(Refusal::InvalidInput { field: "part_lengths", problem })
    }
}

#[derive(Debug, Clone)]
pub struct CompleteParts {
    pub tenant: TenantId,
    pub upload: UploadId,
    /// As the caller lists them: number and what the store said to it.
    pub parts: Vec<(u32, String)>,
    /// As they are found in the store, where it can be asked.
    pub here: Option<BTreeMap<u32, (u64, String)>>,
}

impl Decide for CompleteParts {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Upload(self.upload));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut upload = open_upload(draft, self.tenant, self.upload)?;
        let listed = self.listed(upload.parts.len())?;
        match upload.state.get() {
            upload::State::PendingCommit if upload.etags == listed && upload.measured.is_none() => {
                return Ok(Answer::UploadIs(Box::new(upload))); // said twice
            }
            upload::State::PartsUploading => {}
            upload::State::Initiated => return Err(Refusal::PartsMissing { number: 1 }),
            upload::State::PendingCommit => return Err(Refusal::UploadInParts),
            upload::State::Committed | upload::State::Aborted => unreachable!("it is open"),
        }
        self.check_here(&upload.parts, &listed)?;
        draft.advance(&mut upload, upload::Event::CompleteParts, "POST complete");
        upload.etags = listed;
        upload.updated_at = draft.now;
        draft.put(upload.clone());
        Ok(Answer::UploadIs(Box::new(upload)))
    }
}

impl CompleteParts {
    /// Each part once, in any order.
    fn listed(&self, count: usize) -> Result<Vec<String>, Refusal> {
        let mut listed = BTreeMap::new();
        for (number, etag) in &self.parts {
            if *number == 0 || *number as usize > count.max(1) {
                let problem = format!("there is no part {number}");
                return Err(Refusal::InvalidInput { field: "parts", problem });
            }
            if listed.insert(*number, etag.clone()).is_some_and(|other| other != *etag) {
                let problem = format!("part {number} is listed twice");
                return Err(Refusal::InvalidInput { field: "parts", problem });
            }
        }
        let missing = (1..=count as u32).find(|number| !listed.contains_key(number));
        missing.map_or(Ok(listed.into_values().collect()), |number| Err(Refusal::PartsMissing { number }))
    }

    fn check_here(&self, lengths: &[u64], listed: &[String]) -> Result<(), Refusal> {
        let Some(here) = &self.here else { return Ok(()) };
        for (number, (length, etag)) in (1..).zip(lengths.iter().zip(listed)) {
            let found = here.get(&number).ok_or(Refusal::PartsMissing { number })?;
            if found.0 != *length {
                let problem = format!("part {number} has {} bytes, not {length}", found.0);
                return Err(Refusal::InvalidInput { field: "parts", problem });
            }
            if found.1.trim_matches('"') != etag.trim_matches('"') {
                let problem = format!("part {number} is another one than this ETag says");
                return Err(Refusal::InvalidInput { field: "parts", problem });
            }
        }
        Ok(())
    }
}
