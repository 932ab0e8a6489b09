//! What a script asks about the stored world, without changing it.

use decisions::records::{Attempt, Delivery, Plan};
use machines::Machine;
use store::Store;
use wire::{Digest, JobId};

use crate::words::Words;
use crate::world::{Named, World};

type Said<T> = Result<T, String>;

impl<S: Store> World<S> {
    /// The answer to a question, or `None` when the verb is none.
    pub async fn asked(&mut self, verb: &str, words: &Words<'_>) -> Option<Said<String>> {
        Some(match verb {
            "state" => self.state(words).await,
            "execution" => self.lease_execution(words).await,
            "attempt" => self.attempt(words).await.map(|attempt| attempt.state.get().as_str().into()),
            "attempts" => self.count_attempts(words).await,
            "class" => {
                self.attempt(words).await.map(|it| it.failure_class.map_or("none", |it| it.as_str()).into())
            }
            "why" => self.attempt(words).await.map(|attempt| attempt.explanation),
            "commits" => self.count_commits(words).await,
            "effects" => self.count_effects(words).await,
            "count" => self.count_jobs(words).await,
            "queued" => self.count_queued(words).await,
            "note" => self.note(words).await,
            "cause" => self.cause(words).await,
            "message" => self.find_message(words).await,
            "messages" => self.count_messages(words).await,
            "due" => self.message_due(words).await,
            "ready" => self.ready_messages().await,
            "planned" => self.planned(words).await,
            "successes" => self.successes(words).await,
            "trust" => self.trust(words).await,
            "kept" => self.kept(words).await,
            "revoked" => self.revoked(words).await,
            _ => return None,
        })
    }

    /// `planned RUN`: every job of the plan with its decision and rules, and whose success is reused.
    async fn planned(&self, words: &Words<'_>) -> Said<String> {
        let text = self.store.plan(self.run_named(words.at(0)?)?).await.expect("the store answers");
        let plan: Plan = serde_json::from_str(&text.ok_or("there is no plan")?).expect("a plan is JSON");
        let jobs = plan.jobs.iter().map(|job| {
            let rules: Vec<&str> = job.reasons.iter().map(|reason| reason.rule.as_str()).collect();
            let reused = job.reasons.iter().filter_map(|reason| reason.job).map(|job| self.name_of(job));
            let reused: String = reused.map(|name| format!("({name})")).collect();
            format!("{}:{}:{}{reused} ", job.name, job.decision.as_str(), rules.join("+"))
        });
        Ok(jobs.collect())
    }

    /// `successes KEY…`: the jobs whose success can be reused.
    async fn successes(&self, words: &Words<'_>) -> Said<String> {
        let keys = words.plain.iter().map(|key| key.parse().map(|key| Digest::from_bytes([key; 32])));
        let keys: Vec<Digest> = keys.collect::<Result<_, _>>().map_err(|_| "a key is a number")?;
        let found = self.store.successes(self.tenant, &keys).await.expect("the store answers");
        let names: Vec<&str> = found.iter().map(|(_, _, job)| self.name_of(*job)).collect();
        Ok(if names.is_empty() { "none".into() } else { names.join(" ") })
    }

    async fn trust(&self, words: &Words<'_>) -> Said<String> {
        Ok(self.run_record(self.run_named(words.at(0)?)?).await.trust.as_str().into())
    }

    /// `kept LEASE`: which bytes of a log are there, as `0..10 20..30`.
    async fn kept(&self, words: &Words<'_>) -> Said<String> {
        let id = self.lease_named(words.at(0)?)?.execution;
        let chunks = self.store.log_chunks(id, 0, usize::MAX).await.expect("the store answers");
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for chunk in chunks {
            match ranges.last_mut() {
                Some((_, end)) if *end == chunk.offset => *end = chunk.end(),
                Some(_) | None => ranges.push((chunk.offset, chunk.end())),
            }
        }
        Ok(ranges.iter().map(|(from, to)| format!("{from}..{to} ")).collect())
    }

    /// `revoked TOKEN`: how long ago, or `no`.
    async fn revoked(&self, words: &Words<'_>) -> Said<String> {
        let token = self.store.token(self.token_named(words.at(0)?)).await.expect("the store answers");
        let revoked_at = token.ok_or("there is no such token")?.revoked_at;
        Ok(revoked_at.map_or("no".into(), |at| format!("{:?}", self.now.since(at))))
    }

    async fn state(&self, words: &Words<'_>) -> Said<String> {
        let name = words.at(0)?;
        match self.names.get(name) {
            Some(Named::Job(id)) => Ok(self.job_file(*id).await.job.state.as_str().into()),
            Some(Named::Run(id)) => Ok(self.run_state(*id).await),
            Some(Named::Lease(_)) => Ok(self.lease_state(name).await?.into()),
            Some(Named::Message(..)) => Ok(self.delivery(name).await?.state.get().as_str().into()),
            None => Err(format!("`{name}` is not known")),
        }
    }

    async fn lease_execution(&self, words: &Words<'_>) -> Said<String> {
        Ok(self.execution_state(words.at(0)?).await?.into())
    }

    /// `JOB` for its latest attempt, `JOB#1` for another.
    async fn attempt(&self, words: &Words<'_>) -> Said<Attempt> {
        let (name, index) = match words.at(0)?.split_once('#') {
            Some((name, index)) => (name, Some(index.parse::<usize>().map_err(|_| "no index")?)),
            None => (words.at(0)?, None),
        };
        let attempts = self.job_file(self.job_named(name)?).await.attempts;
        let index = index.unwrap_or(attempts.len());
        attempts.into_iter().nth(index - 1).ok_or_else(|| "there is no such attempt".to_owned())
    }

    async fn count_attempts(&self, words: &Words<'_>) -> Said<String> {
        let job = self.job_file(self.job_named(words.at(0)?)?).await.job;
        Ok(format!("{} of {}", job.attempts, job.attempts_max))
    }

    async fn count_commits(&self, words: &Words<'_>) -> Said<String> {
        let id: JobId = self.job_named(words.at(0)?)?;
        let executions = self.job_file(id).await.executions;
        Ok(executions.iter().filter(|it| it.status.get().has_committed()).count().to_string())
    }

    async fn count_effects(&self, words: &Words<'_>) -> Said<String> {
        Ok(self.job_file(self.job_named(words.at(0)?)?).await.effects.len().to_string())
    }

    /// `count RUN STATE`: of jobs.
    async fn count_jobs(&self, words: &Words<'_>) -> Said<String> {
        let state = words.at(1)?;
        let jobs = self.run_file(self.run_named(words.at(0)?)?).await.jobs;
        Ok(jobs.iter().filter(|job| job.state.as_str() == state).count().to_string())
    }

    /// How many of a run's jobs may be leased now.
    async fn count_queued(&self, words: &Words<'_>) -> Said<String> {
        let mut count = 0;
        for job in self.run_file(self.run_named(words.at(0)?)?).await.jobs {
            count += self.job_file(job.id).await.ready.len();
        }
        Ok(count.to_string())
    }

    async fn note(&self, words: &Words<'_>) -> Said<String> {
        Ok(self.run_record(self.run_named(words.at(0)?)?).await.status_message)
    }

    /// `cause NAME [EVENT]`: of the last entry in the log, or of the last by this event.
    async fn cause(&self, words: &Words<'_>) -> Said<String> {
        let root = self.root_of(words.at(0)?).ok_or("it is not known")?;
        let events = self.store.events_of(&root).await.expect("the store answers");
        let wanted = words.plain.get(1);
        let last = events.iter().rev().find(|event| wanted.is_none_or(|wanted| *wanted == event.event));
        Ok(last.map(|event| event.cause.clone()).unwrap_or_default())
    }

    /// `message NAME EVENT [SUBSCRIBER]`: names a message that has no name yet.
    async fn find_message(&mut self, words: &Words<'_>) -> Said<String> {
        let (name, event) = (words.at(0)?, words.at(1)?);
        let address = format!("/{}", words.plain.get(2).unwrap_or(&""));
        let known: Vec<_> = self.names.values().filter_map(message_of).collect();
        let found = self.deliveries().await.into_iter().find(|delivery| {
            let wanted = delivery.event == event && (address == "/" || delivery.url.ends_with(&address));
            wanted && !known.contains(&delivery.id)
        });
        let found = found.ok_or(format!("there is no message about {event}"))?;
        self.names.insert(name.into(), Named::Message(found.id, found.tries));
        Ok(found.state.get().as_str().into())
    }

    async fn count_messages(&self, words: &Words<'_>) -> Said<String> {
        let event = words.at(0)?;
        Ok(self.deliveries().await.iter().filter(|delivery| delivery.event == event).count().to_string())
    }

    pub async fn delivery(&self, name: &str) -> Said<Delivery> {
        let (id, _) = self.message_named(name)?;
        let found = self.deliveries().await.into_iter().find(|delivery| delivery.id == id);
        found.ok_or(format!("`{name}` is not stored"))
    }

    async fn message_due(&self, words: &Words<'_>) -> Said<String> {
        let due_at = self.delivery(words.at(0)?).await?.due_at;
        Ok(due_at.map_or("never".into(), |due_at| format!("{:?}", due_at.since(self.now))))
    }

    /// The messages that may be claimed now, those with a name.
    async fn ready_messages(&self) -> Said<String> {
        let mut ready = Vec::new();
        for lane in self.store.lanes_ready(self.now, None, 100).await.expect("the store answers") {
            let of_lane = self.store.deliveries_ready_of(&lane, self.now, 100).await;
            ready.extend(of_lane.expect("the store answers"));
        }
        let named =
            self.names.iter().filter(|(_, named)| message_of(named).is_some_and(|id| ready.contains(&id)));
        let names: Vec<_> = named.map(|(name, _)| name.as_str()).collect();
        Ok(if names.is_empty() { "nothing".into() } else { names.join(" ") })
    }

    /// What the log files a name's events under.
    pub fn root_of(&self, name: &str) -> Option<String> {
        match self.names.get(name)? {
            Named::Job(id) => Some(id.to_string()),
            Named::Run(id) => Some(id.to_string()),
            Named::Message(id, _) => Some(id.to_string()),
            Named::Lease(_) => None,
        }
    }
}

fn message_of(named: &Named) -> Option<wire::MessageId> {
    match named {
        Named::Message(id, _) => Some(*id),
        Named::Job(_) | Named::Run(_) | Named::Lease(_) => None,
    }
}
