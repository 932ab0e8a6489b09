//! Every reachable world of each model, and the mistakes that must be found in them. The numbers of worlds are pinned: when
//! one changes, so has what can happen.

mod deep;
mod history;
mod leases;
mod outbox;
mod planted;
mod runs;
mod simulation;

use sim::models::play::Play;
use sim::models::search::{Stage, explore};

/// How many worlds there are, all of them sound.
fn worlds(play: impl Play) -> usize {
    explore(Stage::real(play)).unwrap_or_else(|story| panic!("{story}"))
}
