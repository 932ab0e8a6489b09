//! Rego in this process: parsed once, evaluated on a thread that may block, for a bounded time.

use std::num::NonZeroU32;
use std::sync::Arc;

use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Value};
use tokio::sync::Semaphore;

use crate::artifacts::judge::{JUDGING_TIME_MAX, PolicyError};

const RULE: &str = "data.deltaci.publish";

/// Evaluations at a time; one more waits, within its own time.
const AT_ONCE_MAX: usize = 2;

/// Steps of an evaluation between two looks at the clock.
const STEPS_PER_LOOK: NonZeroU32 = NonZeroU32::new(256).expect("it is not zero");

#[derive(Clone)]
pub struct Rego {
    engine: Arc<Engine>,
    room: Arc<Semaphore>,
}

impl Rego {
    pub fn new(name: &str, text: String) -> Result<Rego, PolicyError> {
        let mut engine = Engine::new();
        engine.add_policy(name.into(), text).map_err(|error| PolicyError::Rego(error.to_string()))?;
        engine.set_execution_timer_config(ExecutionTimerConfig {
            limit: JUDGING_TIME_MAX,
            check_interval: STEPS_PER_LOOK,
        });
        Ok(Rego { engine: Arc::new(engine), room: Arc::new(Semaphore::new(AT_ONCE_MAX)) })
    }

    /// What the rule comes to, as JSON.
    pub async fn evaluate(&self, input: String) -> Result<String, String> {
        let place = self.room.clone().acquire_owned().await.map_err(|error| error.to_string())?;
        let mut engine = Engine::clone(&self.engine);
        let evaluating = tokio::task::spawn_blocking(move || {
            let _place = place; // held until it has really ended, waited for or not
            engine.set_input_json(&input).map_err(|error| error.to_string())?;
            match engine.eval_rule(RULE.into()).map_err(|error| error.to_string())? {
                Value::Undefined => Err("the rule is undefined".into()),
                value => value.to_json_str().map_err(|error| error.to_string()),
            }
        });
        evaluating.await.map_err(|_| "the evaluation panicked".to_string())?
    }
}
