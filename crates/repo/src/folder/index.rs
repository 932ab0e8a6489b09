//! What git tracks, from its index alone. Commands that compare contents would run the repository's filters; this one
//! reads a list.

use std::io::{BufRead, Read};

use pipeline::tree::{ContentId, Kind};

use super::Repository;
use super::listing::{FILES_MAX, too_many};
use super::stamp::{Moment, Stamp};
use crate::Error;
use crate::hash;

/// Longer than any line about one file.
const RECORD_BYTES_MAX: u64 = 64 * 1024;

pub struct Entry {
    pub path: Box<[u8]>,
    pub kind: Kind,
    pub content: ContentId,
    /// Of the last time git saw that the file had this content.
    pub stamp: Option<Stamp>,
    /// A sparse checkout leaves it out on purpose.
    pub is_skipped: bool,
    /// Of a merge with conflicts: no content is the right one.
    pub is_unmerged: bool,
}

/// Hands over every entry as it comes, in the order of their paths, to a taker that is made anew if need be.
pub fn each<T: Take>(repository: &Repository, taker: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    // Git promises no form for the facts about a file. If it is not the one we know, contents are read instead.
    match read(repository, Facts::Wanted, taker()?) {
        Err(Error::Answer { .. }) => read(repository, Facts::Unwanted, taker()?),
        other => other,
    }
}

pub trait Take {
    fn take(&mut self, entry: Entry) -> Result<(), Error>;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Facts {
    Wanted,
    Unwanted,
}

fn read<T: Take>(repository: &Repository, facts: Facts, mut taker: T) -> Result<T, Error> {
    let words = ["ls-files", "--stage", "-t", "-z", "--debug"];
    let words = if facts == Facts::Wanted { &words[..] } else { &words[..4] };
    let output = repository.git.stream(words, |answer| {
        let mut line = Vec::new();
        let mut count = 0;
        while let Some(entry) = next(answer, facts, &mut line)? {
            count += 1;
            if count > FILES_MAX {
                return Err(too_many("the repository"));
            }
            taker.take(entry)?;
        }
        Ok(taker)
    })?;
    output.or_fail("cannot list what git tracks")
}

fn next(answer: &mut dyn BufRead, facts: Facts, line: &mut Vec<u8>) -> Result<Option<Entry>, Error> {
    if !until(answer, 0, line)? {
        return Ok(None);
    }
    let mut entry = parse(line).ok_or_else(not_understood)?;
    if facts == Facts::Wanted {
        entry.stamp = Some(read_stamp(answer, line)?);
    }
    Ok(Some(entry))
}

/// Whether there was another line; without its end.
fn until(answer: &mut dyn BufRead, end: u8, line: &mut Vec<u8>) -> Result<bool, Error> {
    line.clear();
    let read = answer.take(RECORD_BYTES_MAX).read_until(end, line);
    read.map_err(|source| Error::Io { what: "read the answer of", path: "git ls-files".into(), source })?;
    match line.pop() {
        None => Ok(false),
        Some(last) if last == end => Ok(true),
        Some(_) => Err(not_understood()),
    }
}

fn not_understood() -> Error {
    Error::Answer { what: "which files it tracks" }
}

/// `H 100644 78981922613b2afb6025042ff6bd878ac1994e85 0\ta`.
fn parse(record: &[u8]) -> Option<Entry> {
    let tab = record.iter().position(|letter| *letter == b'\t')?;
    let (facts, path) = (&record[..tab], &record[tab + 1..]);
    let mut facts = facts.split(|letter| *letter == b' ');
    let (tag, mode, content, stage) = (facts.next()?, facts.next()?, facts.next()?, facts.next()?);
    Some(Entry {
        path: path.into(),
        kind: kind(mode)?,
        content: hash::parse(content)?,
        stamp: None,
        is_skipped: tag.eq_ignore_ascii_case(b"S"),
        is_unmerged: stage != b"0",
    })
}

/// Git's modes. Old repositories hold others for plain files.
pub fn kind(mode: &[u8]) -> Option<Kind> {
    match mode {
        b"120000" => Some(Kind::Link),
        b"160000" => Some(Kind::Submodule),
        b"100755" => Some(Kind::Executable),
        _ if mode.starts_with(b"100") && mode.len() == 6 => Some(Kind::Plain),
        _ => None,
    }
}

/// `  ctime: 1:2`, `  mtime: 3:4`, `  dev: 5\tino: 6`, `  uid: 7\tgid: 8`, `  size: 9\tflags: 0`, a line each.
fn read_stamp(answer: &mut dyn BufRead, line: &mut Vec<u8>) -> Result<Stamp, Error> {
    let mut pair = |start: &str, middle: &str| -> Result<(u32, u32), Error> {
        until(answer, b'\n', line)?;
        numbers(line, start, middle).ok_or_else(not_understood)
    };
    let moment = |(seconds, nanoseconds)| Moment { seconds, nanoseconds };
    let changed = moment(pair("  ctime: ", ":")?);
    let modified = moment(pair("  mtime: ", ":")?);
    let (_, inode) = pair("  dev: ", "\tino: ")?;
    let (user, group) = pair("  uid: ", "\tgid: ")?;
    let (length, _) = pair("  size: ", "\tflags: ")?;
    Ok(Stamp { modified, changed, inode, user, group, length })
}

/// The second may be in hexadecimal, where nobody reads it.
fn numbers(line: &[u8], start: &str, middle: &str) -> Option<(u32, u32)> {
    let (first, second) = std::str::from_utf8(line).ok()?.strip_prefix(start)?.split_once(middle)?;
    let second = if middle == "\tflags: " { 0 } else { second.parse().ok()? };
    Some((first.parse().ok()?, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_index_is_read() {
        let text = b"S 100755 78981922613b2afb6025042ff6bd878ac1994e85 0\ta\tb\nc\0  ctime: 1:2\n  mtime: 3:4\n  dev: 5\tino: 6\n  uid: 7\tgid: 8\n  size: 9\tflags: 40000000\n";
        let mut answer = &text[..];
        let mut line = Vec::new();
        let entry = next(&mut answer, Facts::Wanted, &mut line).expect("understood").expect("an entry");
        assert_eq!((&*entry.path, entry.kind), (&b"a\tb\nc"[..], Kind::Executable));
        assert!(entry.is_skipped && !entry.is_unmerged);
        let stamp = entry.stamp.expect("a stamp");
        let modified = Moment { seconds: 3, nanoseconds: 4 };
        assert_eq!((stamp.modified, stamp.inode, stamp.group, stamp.length), (modified, 6, 8, 9));
        assert!(next(&mut answer, Facts::Wanted, &mut line).expect("understood").is_none());
    }

    #[test]
    fn a_line_in_another_form_is_an_error_and_not_a_guess() {
        for text in [
            &b"garbage\0"[..],
            b"H 100644 7898 0\ta\0",
            b"H 100644",
            b"H 040000 78981922613b2afb6025042ff6bd878ac1994e85 0\ta\0",
        ] {
            assert!(next(&mut &*text, Facts::Wanted, &mut Vec::new()).is_err(), "{}", text.escape_ascii());
        }
    }
}
