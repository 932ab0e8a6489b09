//! Which of the files that git tracks are on the disk as git saw them last: by their stamps, without reading them.

use std::path::Path;

use pipeline::tree::{ContentId, File, Kind};
use rustix::fs::{AtFlags, Stat, statat};

use super::contents::{Touched, kind_of};
use super::index::{Entry, Take};
use super::stamp::{Moment, Stamp};
use crate::Error;
use crate::paths;
use crate::steps::{Missing, Steps, is_gone};

pub struct Compare {
    /// Not touched since.
    pub files: Vec<(File, Option<Stamp>)>,
    /// What only reading tells.
    pub touched: Vec<Touched>,
    /// By a sparse checkout.
    pub left_out: Vec<File>,
    /// With the commit that the index has.
    pub submodules: Vec<(Box<[u8]>, ContentId)>,
    steps: Steps,
    /// When the index was.
    written: Option<Moment>,
    trust_mode: bool,
}

impl Compare {
    pub fn new(root: &Path, written: Option<Moment>, trust_mode: bool) -> Result<Compare, Error> {
        let steps = Steps::new(root, Missing::Stop).map_err(Error::at("open the folder", b"."))?;
        let (files, touched, left_out, submodules) = Default::default();
        Ok(Compare { files, touched, left_out, submodules, steps, written, trust_mode })
    }

    fn look(&mut self, path: &[u8]) -> Result<Option<Stat>, Error> {
        let found = self.steps.to(path);
        match found.and_then(|(folder, name)| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if is_gone(error) => Ok(None),
            Err(error) => Err(Error::at("look at", path)(error)),
        }
    }

    /// A file that was written when the index was, or later, may have changed since without a trace.
    fn is_clean(&self, stamp: Option<Stamp>, stat: &Stat) -> bool {
        let is_settled = |stamp: Stamp| self.written.is_some_and(|written| stamp.modified < written);
        stamp == Some(Stamp::of(stat)) && stamp.is_some_and(is_settled)
    }

    fn is_same_kind(&self, found: Kind, known: Kind) -> bool {
        let is_file = |kind| matches!(kind, Kind::Plain | Kind::Executable);
        found == known || !self.trust_mode && is_file(found) && is_file(known)
    }
}

impl Take for Compare {
    fn take(&mut self, entry: Entry) -> Result<(), Error> {
        let Entry { path, kind, content, stamp, is_skipped, is_unmerged } = entry;
        paths::check(&path)?;
        if paths::is_data(&path) {
            return Ok(());
        }
        let Some(stat) = self.look(&path)? else {
            if is_skipped {
                self.left_out.push(File { path, kind, content });
            }
            return Ok(());
        };
        match kind_of(&stat) {
            None if kind == Kind::Submodule => self.submodules.push((path, content)),
            None => {}
            Some(found) if !is_unmerged && self.is_same_kind(found, kind) && self.is_clean(stamp, &stat) => {
                self.files.push((File { path, kind, content }, stamp));
            }
            // Of a merge with conflicts there are up to three entries.
            Some(_) if self.touched.last().is_some_and(|touched| touched.path == path) => {}
            Some(_) => {
                let assumed = (!self.trust_mode).then_some(kind);
                self.touched.push(Touched { path, assumed });
            }
        }
        Ok(())
    }
}
