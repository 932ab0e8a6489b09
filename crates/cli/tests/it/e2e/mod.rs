//! Server and runners as real processes over real sockets, killed, frozen, cut off and lied to.
//!
//! `site.rs` is a server, `wall.rs` its wall clock, `worker.rs` a runner, `proxy.rs` the wire between them, `hand.rs` a runner played by hand.
//! Jobs write what they do into a file, hold a lock while any process of theirs lives, and carry a mark by which `/proc`
//! shows them. Timings are short; what must survive has a long lease, what must be lost a short one.

mod hand;
mod http;
pub mod marks;
pub mod patience;
pub mod program;
mod proxy;
mod site;
mod tracer;
mod views;
#[path = "../../../src/verify/wall.rs"]
mod wall;
mod worker;

mod artifacts;
mod caches;
mod cancels;
mod chaos;
mod clocks;
mod crashes;
mod crowd;
pub mod databases;
mod disk;
mod network;
mod planned;
mod queues;
mod repeats;
mod secrets;
mod states;
mod stops;
