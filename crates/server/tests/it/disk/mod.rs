//! What the disk does to us: power cuts at every write and sync, torn writes, every call failing once, no room.
//!
//! `story.rs` is one life of a server's data: a job from its submission to its delivery, artifacts from their upload to
//! their collection, a restart in the middle. A child process plays it under `strace` (`recording.rs`), which notes what
//! the child asked of the disk and in between what it acknowledged (`trace.rs`, `history.rs`). `medium.rs` is the disk as
//! POSIX promises it: only what was synced is there after a cut, of the rest any part. `verdict.rs` opens what a cut
//! left with the real store, looks for everything that was acknowledged, and plays the story to its end. `restarts.rs` has a
//! server go on from what the system shows, and then loses the power.
//!
//! A killed process proves nothing about durability: the kernel still writes what it was given. Never: a hook in the
//! product's code. `LIFECYCLE` in `story.rs` is what CI goes through in full; `DELTACI_DISK_CUTS=all` does so with the whole
//! story, in more ways.

mod cuts;
mod faults;
mod history;
mod medium;
mod part;
mod planted;
mod recording;
mod restarts;
mod site;
mod story;
mod trace;
mod uploads;
mod verdict;
