//! The tables, tested whole: every cell of every machine, what the specifications list, and the document made of them.

mod document;
mod seeds;
mod shape;
mod typed;
