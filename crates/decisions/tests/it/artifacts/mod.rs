//! Artifacts: uploads, publications, withdrawals, restores and collections in every order, with the bytes beside them.
//!
//! A world is what the store and the disk hold; an actor is a caller that does one step at a time and remembers what it
//! was told. The search goes through every interleaving of their steps, looks at every world on its way, and ends each
//! way by letting everything come to rest.

mod actors;
mod checks;
mod search;
mod world;
