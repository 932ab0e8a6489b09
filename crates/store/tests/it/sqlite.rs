//! What only SQLite has to prove: what it opens and what it leaves alone, kills, full disks, readers beside a writer.

mod full_disk;
mod kills;
mod opening;
mod sharing;
