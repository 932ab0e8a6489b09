//! `deltaci verify`: real processes killed until it counts, lies planted into what it saw, and nothing left of it.

mod leftovers;
mod lies;
mod tries;
