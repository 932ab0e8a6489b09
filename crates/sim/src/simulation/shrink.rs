//! Makes a failing seed's story shorter: without classes of faults, with fewer actors, without single faults, as long as the
//! same rule breaks.

use std::collections::BTreeSet;
use std::fmt;

use super::faults::{Class, Strike};
use super::parts::Parts;
use super::run::{Outcome, run_with};
use super::setup::Profile;

/// The shortest way that was found.
#[derive(Debug, Clone)]
pub struct Story {
    pub rule: &'static str,
    pub outcome: Outcome,
    pub profile: Profile,
    /// Before it was made shorter.
    pub faults_before: usize,
}

/// How many times the seed is played again at most.
const PLAYS_MAX: usize = 400;
const LINES_SHOWN: usize = 60;

struct Shrinking {
    seed: u64,
    parts: Parts,
    rule: &'static str,
    best: (Profile, Outcome),
    plays_left: usize,
}

/// `None` when the seed breaks no rule.
pub fn shrink(seed: u64, profile: &Profile, parts: Parts) -> Option<Story> {
    let outcome = run_with(seed, profile, parts);
    let rule = outcome.violations.first()?.rule;
    let faults_before = outcome.struck.len();
    let best = (profile.clone(), outcome);
    let mut shrinking = Shrinking { seed, parts, rule, best, plays_left: PLAYS_MAX };
    shrinking.drop_classes();
    shrinking.drop_actors();
    shrinking.drop_faults();
    let profile = Profile { telling: true, ..shrinking.best.0 };
    let outcome = run_with(seed, &profile, parts);
    Some(Story { rule, outcome, profile, faults_before })
}

impl Shrinking {
    /// Keeps the profile if it still breaks the rule.
    fn attempt(&mut self, profile: Profile) -> bool {
        if self.plays_left == 0 {
            return false;
        }
        self.plays_left -= 1;
        let outcome = run_with(self.seed, &profile, self.parts);
        let breaks = outcome.violations.iter().any(|it| it.rule == self.rule);
        if breaks {
            self.best = (profile, outcome);
        }
        breaks
    }

    fn drop_classes(&mut self) {
        for class in Class::ALL {
            let mut profile = self.best.0.clone();
            profile.limits.without.insert(*class);
            self.attempt(profile);
        }
    }

    fn drop_actors(&mut self) {
        let counts: [fn(&mut Profile) -> &mut usize; 5] = [
            |it| &mut it.publishers_max,
            |it| &mut it.runs_max,
            |it| &mut it.jobs_max,
            |it| &mut it.servers_max,
            |it| &mut it.runners_max,
        ];
        for (index, count) in counts.into_iter().enumerate() {
            let least = usize::from(index >= 3);
            let most = *count(&mut self.best.0.clone());
            for fewer in least..most {
                let mut profile = self.best.0.clone();
                *count(&mut profile) = fewer;
                if self.attempt(profile) {
                    break;
                }
            }
        }
    }

    /// Halves, quarters, and so on: what can go, goes.
    fn drop_faults(&mut self) {
        let mut chunk = self.best.1.struck.len().max(1);
        while chunk >= 1 && self.plays_left > 0 {
            let mut at = 0;
            while at < self.best.1.struck.len() && self.plays_left > 0 {
                let struck = &self.best.1.struck;
                let kept = struck[..at].iter().chain(struck.iter().skip(at + chunk));
                let only: BTreeSet<Strike> = kept.copied().collect();
                let mut profile = self.best.0.clone();
                profile.limits.only = Some(only);
                if !self.attempt(profile) {
                    at += chunk;
                }
            }
            chunk /= 2;
        }
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Story { rule, outcome, profile, faults_before } = self;
        writeln!(f, "seed {} breaks: {rule}", outcome.seed)?;
        outcome.violations.iter().try_for_each(|it| writeln!(f, "  {it}"))?;
        writeln!(f, "replay: {}", replay_command(outcome.seed))?;
        let Profile { servers_max, runners_max, jobs_max, runs_max, publishers_max, .. } = profile;
        writeln!(
            f,
            "made shorter: {} of {faults_before} faults; at most {servers_max} servers, {runners_max} runners, \
             {jobs_max} jobs, {runs_max} runs, {publishers_max} publishers",
            outcome.struck.len()
        )?;
        outcome.struck.iter().try_for_each(|(class, draw)| writeln!(f, "  {class} #{draw}"))?;
        let lines = &outcome.story;
        lines[lines.len().saturating_sub(LINES_SHOWN)..].iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// One line that shows the same again.
pub fn replay_command(seed: u64) -> String {
    format!("DELTACI_SIM_SEED={seed} cargo test -p sim --test it simulation::replay -- --nocapture")
}
