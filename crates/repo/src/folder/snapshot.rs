//! A copy of a folder that others still write to. What the tree says is what is in the copy.

use std::fs::File as OpenFile;
use std::path::Path;

use pipeline::tree::{ContentId, File, Kind, Tree};
use rustix::fs::{OFlags, fstat};
use rustix::io::Errno;

use super::Listing;
use super::contents::{kind_of, known_kind, unreadable};
use super::stamp::Stamp;
use crate::Error;
use crate::copy::{Copier, Poured};
use crate::steps::is_gone;

/// How often a file that becomes a link, or the other way round, under our eyes is looked at again.
const TRIES_MAX: usize = 3;

pub fn take(root: &Path, listing: &Listing, to: &Path) -> Result<Tree, Error> {
    let mut copier = Copier::new(root, to)?;
    let mut files = Vec::with_capacity(listing.tree.files().len());
    for (file, stamp) in listing.tree.files().iter().zip(&listing.stamps) {
        let mut tries = 0;
        let taken = loop {
            tries += 1;
            match take_one(&mut copier, listing, file, *stamp) {
                Err(Trouble::Source(Errno::LOOP)) if tries < TRIES_MAX => {}
                taken => break taken,
            }
        };
        match taken {
            Ok((kind, content)) => files.push(File { path: file.path.clone(), kind, content }),
            Err(Trouble::Source(error)) if is_gone(error) => {}
            Err(Trouble::Source(error)) => return Err(unreadable(&file.path, error)),
            Err(Trouble::Copy(error)) => return Err(Error::at("write the copy of", &file.path)(error)),
        }
    }
    Ok(Tree::new(files))
}

/// A file that is gone where it comes from is a file less. Where it goes to, something is wrong.
enum Trouble {
    Source(Errno),
    Copy(Errno),
}

fn take_one(
    copier: &mut Copier,
    listing: &Listing,
    file: &File,
    stamp: Option<Stamp>,
) -> Result<(Kind, ContentId), Trouble> {
    let Listing { format, trust_mode, .. } = listing;
    if file.kind == Kind::Submodule {
        copier.folder(&file.path).map_err(Trouble::Copy)?;
        return Ok((file.kind, file.content));
    }
    let before = copier.look(&file.path).map_err(Trouble::Source)?;
    let kind = kind_of(&before).ok_or(Trouble::Source(Errno::NOENT))?;
    let kind = known_kind(kind, (!trust_mode).then_some(file.kind));
    if kind == Kind::Link {
        let target = copier.read_link(&file.path).map_err(Trouble::Source)?;
        copier.make_link(&file.path, &target).map_err(Trouble::Copy)?;
        return Ok((kind, format.of_bytes(target.as_bytes())));
    }
    let source = copier.open(&file.path).map_err(Trouble::Source)?;
    let mut copy = OpenFile::from(copier.create(&file.path, kind, OFlags::EXCL).map_err(Trouble::Copy)?);
    let poured = copier.pour(&source, &copy).map_err(Trouble::Copy)?;
    let after = fstat(&source).map_err(Trouble::Copy)?;
    // Untouched from before it was listed until after it was copied.
    let is_known = kind == file.kind && stamp == Some(Stamp::of(&before)) && stamp == Some(Stamp::of(&after));
    let content = match poured {
        Poured::AtOnce(_) | Poured::InParts if is_known => file.content,
        Poured::AtOnce(length) => format.of_bytes(&copier.buffer[..length]),
        Poured::InParts => {
            let hashed = format.of_file(&mut copy, &mut Vec::new());
            hashed.map_err(|error| Trouble::Copy(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?
        }
    };
    Ok((kind, content))
}
