//! What the API shows of jobs and of the audit log, asked until it is so.

use serde_json::Value;

use crate::e2e::patience::until;
use crate::e2e::site::Site;

impl Site {
    pub fn job(&self, name: &str) -> Value {
        self.get(&format!("/v1/tenants/default/jobs/{name}")).expect(200)
    }

    #[track_caller]
    pub fn until_job(&self, name: &str, state: &str) -> Value {
        until(&format!("{name} is {state}"), || {
            let job = self.job(name);
            assert!(!is_over(&job) || job["state"] == state, "{name} ended otherwise: {job:#}");
            (job["state"] == state).then_some(job)
        })
    }

    /// Until the job's latest attempt is in this state.
    #[track_caller]
    pub fn until_attempt(&self, name: &str, state: &str) {
        until(&format!("the attempt of {name} is {state}"), || {
            let job = self.job(name);
            assert!(!is_over(&job) || last_attempt(&job)["state"] == state, "{name} ended: {job:#}");
            (last_attempt(&job)["state"] == state).then_some(())
        });
    }

    pub fn log(&self, name: &str) -> String {
        self.get(&format!("/v1/tenants/default/jobs/{name}/log")).text()
    }

    pub fn until_logged(&self, name: &str, text: &str) {
        until(&format!("the log of {name} has `{text}`"), || self.log(name).contains(text).then_some(()));
    }

    /// The audit log of one thing, or of everything.
    pub fn events(&self, tenant: &str, entity: Option<&str>) -> Vec<Value> {
        let mut events: Vec<Value> = Vec::new();
        let mut after = "0".to_owned();
        loop {
            let entity = entity.map_or(String::new(), |entity| format!("&entity={entity}"));
            let path = format!("/v1/tenants/{tenant}/events?limit=1000&after={after}{entity}");
            let page = self.get(&path).expect(200);
            events.extend(page["items"].as_array().expect("a list").iter().cloned());
            match page["next"].as_str() {
                Some(next) => after = next.to_owned(),
                None => return events,
            }
        }
    }

    /// How many executions of the job were committed.
    pub fn commits(&self, name: &str) -> usize {
        let events = self.events("default", Some(name));
        events.iter().filter(|event| event["machine"] == "execution" && event["to"] == "COMMITTED").count()
    }

    /// The job succeeded in its first execution, and nothing happened twice.
    #[track_caller]
    pub fn ran_once(&self, name: &str) {
        let job = self.until_job(name, "SUCCEEDED");
        assert_eq!(executions(&job).len(), 1, "{job:#}");
        assert_eq!(self.commits(name), 1, "{job:#}");
        assert_eq!(self.noted_lines(&format!("begin {name}")), 1);
        assert_eq!(self.noted_lines(&format!("end {name}")), 1);
        assert_eq!(self.noted_lines(&format!("overlap {name}")), 0);
    }

    /// The job succeeded after losing leases: one commit, and never two of its executions at a time.
    #[track_caller]
    pub fn ran_again(&self, name: &str) {
        let job = self.until_job(name, "SUCCEEDED");
        assert!(executions(&job).len() > 1, "{job:#}");
        assert_eq!(self.commits(name), 1, "{job:#}");
        assert_eq!(self.noted_lines(&format!("overlap {name}")), 0);
    }
}

pub fn is_over(job: &Value) -> bool {
    ["SUCCEEDED", "FAILED", "CANCELED"].iter().any(|state| job["state"] == *state)
}

pub fn last_attempt(job: &Value) -> &Value {
    job["attempts"].as_array().and_then(|attempts| attempts.last()).unwrap_or(&Value::Null)
}

/// All executions of all attempts, in order.
pub fn executions(job: &Value) -> Vec<Value> {
    let attempts = job["attempts"].as_array().expect("a list");
    attempts.iter().flat_map(|attempt| attempt["executions"].as_array().expect("a list").clone()).collect()
}

/// The states of the leases, in order.
pub fn lease_states(job: &Value) -> Vec<String> {
    executions(job).iter().map(|execution| execution["lease_state"].as_str().unwrap_or("").into()).collect()
}
