//! What a plan is made from: the commit, its files, and what changed. Blocks.

use std::sync::Arc;

use decisions::records::Run;
use pipeline::facts::Difference;
use pipeline::tree::Tree;
use repo::{Error, Found, Mirror, Mirrors};

pub struct Gathered {
    pub mirror: Arc<Mirror>,
    pub found: Found,
    pub tree: Tree,
    pub difference: Difference,
}

pub fn gather(mirrors: &Mirrors, repository: &str, run: &Run) -> Result<Gathered, Error> {
    let mirror = mirrors.mirror(repository)?;
    let found = mirror.fetch(run.git_ref.as_deref(), run.commit.as_deref())?;
    let tree = mirror.tree(&found.commit)?;
    let difference = match &run.base {
        Some(base) => mirror.difference(base, &found.commit),
        None => Difference::NotAsked,
    };
    Ok(Gathered { mirror: Arc::new(mirror), found, tree, difference })
}
