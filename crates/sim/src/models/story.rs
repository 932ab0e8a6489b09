//! How a rule came to be broken, in words: one line per step, without the steps that do not matter.

use std::fmt;

use stateright::Model;

use super::play::Play;
use super::search::{Action, CALM, Stage};
use super::world::World;

/// No steps when something that should be possible never happens.
#[derive(Debug)]
pub struct Story {
    pub rule: &'static str,
    pub steps: Vec<String>,
}

impl Story {
    /// Leaves out every step without which the rule is broken all the same.
    pub fn shortest<P: Play>(
        stage: &Stage<P>,
        rule: &'static str,
        actions: Vec<Action<P::Message, P::Step>>,
    ) -> Story {
        let mut steps: Vec<String> = actions.iter().map(ToString::to_string).collect();
        steps.truncate(broken_after(stage, rule, &steps).unwrap_or(steps.len()));
        let mut position = steps.len();
        while position > 0 {
            position -= 1;
            let mut fewer = steps.clone();
            fewer.remove(position);
            if let Some(length) = broken_after(stage, rule, &fewer) {
                fewer.truncate(length);
                position = position.min(length);
                steps = fewer;
            }
        }
        Story { rule, steps }
    }
}

/// After how many of these steps the rule is broken, if each of them can be taken.
fn broken_after<P: Play>(stage: &Stage<P>, rule: &'static str, steps: &[String]) -> Option<usize> {
    let condition = stage.property(rule).condition;
    // The search tries calm from some worlds only; a story may end in any.
    let holds = |world: &World<P>| if rule == CALM { stage.calms(world) } else { condition(stage, world) };
    let mut world = stage.init_states().pop()?;
    for (taken, step) in steps.iter().enumerate() {
        if !holds(&world) {
            return Some(taken);
        }
        let mut actions = Vec::new();
        stage.actions(&world, &mut actions);
        let action = actions.into_iter().find(|action| action.to_string() == *step)?;
        world = stage.next_state(&world, action)?;
    }
    (!holds(&world)).then_some(steps.len())
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return write!(f, "never happens: {}", self.rule);
        }
        write!(f, "broken: {}\n  {}", self.rule, self.steps.join("\n  "))
    }
}
