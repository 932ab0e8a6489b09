//! Bytes against their contract: files and a bucket by one suite, then what only one of them has to prove.

mod bucket;
mod full_disk;
mod generations;
mod kills;
mod leftovers;
mod parts;
mod places;
mod resuming;
mod round_trip;
mod signed;
