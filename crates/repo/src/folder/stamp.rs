//! What tells that a file was not touched, without reading it: the same facts that git keeps in its index.

use rustix::fs::Stat;

/// As git keeps them, each cut to 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub modified: Moment,
    pub changed: Moment,
    pub inode: u32,
    pub user: u32,
    pub group: u32,
    pub length: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    pub seconds: u32,
    pub nanoseconds: u32,
}

impl Stamp {
    pub fn of(stat: &Stat) -> Stamp {
        let moment = |seconds: i64, nanoseconds: u64| Moment {
            seconds: seconds as u32,
            nanoseconds: nanoseconds as u32,
        };
        Stamp {
            modified: moment(stat.st_mtime, stat.st_mtime_nsec),
            changed: moment(stat.st_ctime, stat.st_ctime_nsec),
            inode: stat.st_ino as u32,
            user: stat.st_uid,
            group: stat.st_gid,
            length: stat.st_size as u32,
        }
    }
}
