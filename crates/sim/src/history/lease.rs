//! A lease with fencing tokens: later holders have greater ones, only the last can still speak, and one finishes.
//!
//! The same as a linearizable register that holds the token, seen from outside: what was done under a token came before
//! anybody was told of a greater one.

use std::collections::BTreeMap;

use super::{Entry, History, Op, Violation, rules};

#[derive(Default)]
struct Lease<'h> {
    acquired: Vec<(u64, &'h Entry)>,
    used: Vec<(u64, &'h Entry)>,
    finished: Vec<(u64, &'h Entry)>,
}

pub fn check(history: &History) -> Vec<Violation> {
    let mut leases: BTreeMap<&str, Lease<'_>> = BTreeMap::new();
    for entry in history.entries().iter().filter(|entry| entry.is_ok()) {
        match &entry.op {
            Op::Acquire { lease, token: Some(token) } => {
                leases.entry(lease).or_default().acquired.push((*token, entry));
            }
            Op::Use { lease, token } => leases.entry(lease).or_default().used.push((*token, entry)),
            Op::Finish { lease, token } => leases.entry(lease).or_default().finished.push((*token, entry)),
            Op::Acquire { token: None, .. } | Op::Put { .. } | Op::Take { .. } | Op::Drained { .. } => {}
            Op::Name { .. } | Op::Add { .. } | Op::Count { .. } => {}
            Op::Grow { .. } | Op::Length { .. } | Op::Keep { .. } | Op::Look { .. } => {}
        }
    }
    leases.iter().flat_map(|(name, lease)| lease.violations(name)).collect()
}

impl Lease<'_> {
    fn violations(&self, name: &str) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut broken = |rule, what: String| violations.push(Violation::new(rule, what));
        for (index, (token, entry)) in self.acquired.iter().enumerate() {
            for (earlier, before) in &self.acquired[..index] {
                let follows = before.done_at().is_some_and(|done| done < entry.began);
                if earlier == token || follows && earlier > token {
                    let who = (&before.client, &entry.client);
                    broken(
                        rules::TOKENS_RISE,
                        format!("{name}: {} had {earlier}, then {} {token}", who.0, who.1),
                    );
                }
            }
        }
        for (token, entry) in self.used.iter().chain(&self.finished) {
            if let Some((newer, holder)) = self.followed(*token, entry) {
                let what = format!("{name}: {} spoke under {token} after {holder} had {newer}", entry.client);
                broken(rules::STALE_WINS, what);
            }
        }
        if let Some((first, entry)) = self.finished.first() {
            for (token, _) in self.finished.iter().filter(|(token, _)| token != first) {
                broken(rules::FINISHED_TWICE, format!("{name}: under {first} and under {token}"));
            }
            let after = |begun: u64| entry.done_at().is_some_and(|done| done < begun);
            for (token, _) in self.acquired.iter().filter(|(_, acquired)| after(acquired.began)) {
                broken(rules::LEASED_AFTER_END, format!("{name}: {token} after {first} had finished"));
            }
        }
        violations
    }

    /// Somebody who was told of a greater token before this was said.
    fn followed(&self, token: u64, entry: &Entry) -> Option<(u64, &str)> {
        let told = |acquired: &Entry| acquired.done_at().is_some_and(|done| done < entry.began);
        let newer = self.acquired.iter().find(|(newer, acquired)| *newer > token && told(acquired))?;
        Some((newer.0, &newer.1.client))
    }
}
