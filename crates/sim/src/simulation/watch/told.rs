//! Messages: written with what they tell of, told at least once, in order where order was asked for.

use std::collections::BTreeSet;

use decisions::records::{Delivery, Job};
use machines::delivery;

use super::mirror::{Watch, Written};
use crate::simulation::outbox::Sinks;
use crate::simulation::rules;

impl Watch {
    pub(super) fn before_told(&mut self, written: &Written) {
        let mut broken = Vec::new();
        let new = |event: &str, subject: &str| {
            let news = written.deliveries.iter().filter(|it| !self.deliveries.contains_key(&it.id));
            news.filter(|it| it.event == event && it.subject == subject).count()
        };
        let subscribers = |event: &str| self.subscribers.get(event).copied().unwrap_or(0);
        for job in written.jobs.iter().filter(|job| self.just_ended(job)) {
            let count = new("job.finished", &format!("{}/{}", job.id, job.attempts));
            if count != subscribers("job.finished") {
                broken.push((rules::ANNOUNCED, format!("{} ended, {count} are told", job.id)));
            }
        }
        for run in &written.runs {
            let was_over = self.runs.get(&run.id).is_some_and(|before| before.outcome.is_some());
            if run.outcome.is_none() || was_over {
                continue;
            }
            let count = new("run.finished", &run.id.to_string());
            if count != subscribers("run.finished") {
                broken.push((rules::ANNOUNCED, format!("{} ended, {count} are told", run.id)));
            }
        }
        let ended =
            written.attempts.iter().filter(|it| it.finished_at.is_some()).map(|it| it.key.to_string());
        let over = written.runs.iter().filter(|it| it.outcome.is_some()).map(|it| it.id.to_string());
        let subjects: BTreeSet<String> = ended.chain(over).collect();
        let made = written.deliveries.iter().filter(|it| !self.deliveries.contains_key(&it.id));
        let of_work = |event: &str| event == "job.finished" || event == "run.finished";
        for message in made.filter(|it| of_work(&it.event) && !subjects.contains(&it.subject)) {
            broken.push((rules::ANNOUNCED, format!("somebody is told that {} ended", message.subject)));
        }
        for after in &written.deliveries {
            let Some(before) = self.deliveries.get(&after.id) else { continue };
            let was = before.state.get();
            if was == delivery::State::Delivered && after.state.get() != was || after.claims < before.claims {
                broken.push((rules::FINAL, format!("{} was {was:?}", after.id)));
            }
        }
        broken.into_iter().for_each(|(rule, what)| self.broke(rule, what));
    }

    /// Ended by this save; a job that is tried again by hand ends again.
    fn just_ended(&self, job: &Job) -> bool {
        let before = self.jobs.get(&job.id);
        let known = before.is_some_and(|before| before.state.is_over() && before.attempts == job.attempts);
        job.state.is_over() && !known
    }

    /// A subscriber has a message.
    pub fn told(&mut self, delivery: &Delivery, sinks: &Sinks) {
        let on_record = self.deliveries.get(&delivery.id);
        let known = on_record.is_some_and(|it| it.subject == delivery.subject && it.body == delivery.body);
        if !known {
            self.broke(rules::INVENTED, format!("{} about {}", delivery.id, delivery.subject));
        }
        let what = (delivery.lane.clone(), delivery.event.clone(), delivery.subject.clone());
        if sinks.applied.get(&what).is_some_and(|ids| ids.len() > 1) {
            self.broke(rules::ONCE, format!("{} of {}", delivery.event, delivery.subject));
        }
        let first = sinks.arrived.get(&delivery.id) == Some(&1);
        if !first || !delivery.is_ordered() || self.dead.contains(&delivery.id) {
            return;
        }
        let turns = sinks.turns.get(&delivery.lane);
        let overtaken = turns.into_iter().flatten().any(|(turn, _)| *turn > delivery.turn);
        if overtaken {
            self.broke(rules::ORDERED, format!("turn {} of {} came late", delivery.turn, delivery.lane));
        }
    }
}
