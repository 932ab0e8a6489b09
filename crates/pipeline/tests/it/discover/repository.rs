//! A repository in one text: a line `== PATH` before each file's content.

use std::collections::BTreeMap;

use pipeline::discover::{Discovered, discover};
use pipeline::tree::{ContentId, File, Kind, Tree};

pub fn files(text: &str) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut files: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        match line.strip_prefix("== ") {
            Some(path) => {
                files.insert(path.into(), Vec::new());
                current = Some(path.as_bytes().to_vec());
            }
            None => {
                let content = current.as_ref().and_then(|path| files.get_mut(path));
                content.expect("a path comes first").extend(format!("{line}\n").as_bytes());
            }
        }
    }
    files
}

pub fn found(files: &BTreeMap<Vec<u8>, Vec<u8>>) -> Discovered {
    let file = |path: &Vec<u8>| File {
        path: path.as_slice().into(),
        kind: Kind::Plain,
        content: ContentId([0; 32]),
    };
    let tree = Tree::new(files.keys().map(file).collect());
    discover(&tree, &|path| files.get(path).cloned())
}

/// All that was found, for people.
pub fn described(found: &Discovered) -> String {
    let mut text = String::new();
    for project in &found.projects {
        let folder = if project.folder.is_empty() { "." } else { &project.folder };
        text += &format!("{} {} in {folder} ({})\n", project.kind.as_str(), project.name, project.manifest);
        if !project.uses.is_empty() {
            text += &format!("  uses {}\n", project.uses.join(", "));
        }
        for name in &project.jobs {
            let job = found.pipeline.jobs.iter().find(|job| job.name == *name).expect("a job");
            let place = job.spec.workdir.as_deref().map(|folder| format!(" in {folder}")).unwrap_or_default();
            text += &format!("  job {name}{place} on [{}]\n", job.runs_on.join(", "));
            job.spec.steps.iter().for_each(|step| text += &format!("    $ {step}\n"));
            match &job.paths {
                Some(paths) => paths.iter().for_each(|path| text += &format!("    {path}\n")),
                None => text += "    all files\n",
            }
        }
    }
    found.notes.iter().for_each(|note| text += &format!("note: {note}\n"));
    text
}
