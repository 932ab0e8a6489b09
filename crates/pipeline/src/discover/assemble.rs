//! From the findings of every kind to one pipeline: who uses whom, whose files are whose, and what the jobs are called.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use decisions::records::Source;
use wire::runner::JobSpec;

use super::found::{Discovered, Findings, Found, Kind, Project, Task};
use super::repository::{Repository, around, folder_of};
use super::words::slug;
use super::{cargo, dotnet, go, make, node, python};
use crate::definition::{Job, Pipeline};
use crate::globs;
use crate::plan::path_text;
use crate::tree::Tree;

const NAME_MAX: usize = 200;
/// The most folders that a job names.
const FOLDERS_MAX: usize = 100;

/// The projects of a repository and a job or more for each. `read` gives a file's bytes, if it has them.
pub fn discover(tree: &Tree, read: &dyn Fn(&[u8]) -> Option<Vec<u8>>) -> Discovered {
    let repository = Repository::new(tree, read);
    let rooms = [cargo::find, node::find, go::find, python::find, dotnet::find, make::find];
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    for room in rooms {
        let Findings { projects, notes: more } = room(&repository);
        found.extend(projects);
        notes.extend(more);
    }
    // Names are somebody else's text, and people will read them.
    found.iter_mut().for_each(|project| project.name = shown(&project.name));
    found.sort_by(|a, b| (&a.folder, a.kind, &a.name).cmp(&(&b.folder, b.kind, &b.name)));
    notes.extend(strangers(&mut found));
    let used = closures(&found);
    notes.extend(circles(&found, &used));
    let within = within(&found);
    let mut names = HashSet::new();
    let (mut jobs, mut projects) = (Vec::new(), Vec::new());
    for (project, used) in found.iter().zip(&used) {
        let paths = paths(project, used.iter().map(|place| &found[*place]), &within);
        let mut called = Vec::new();
        for task in &project.tasks {
            let name = job_name(project, task, found.len() == 1, &mut names);
            jobs.push(job(name.clone(), project, task, paths.clone()));
            called.push(name);
        }
        let mut uses: Vec<String> = used.iter().map(|place| found[*place].folder.clone()).collect();
        uses.retain(|folder| *folder != project.folder);
        uses.dedup();
        projects.push(Project {
            kind: project.kind,
            name: project.name.clone(),
            folder: project.folder.clone(),
            manifest: project.manifest.clone(),
            uses,
            jobs: called,
        });
    }
    let pipeline = Pipeline { source: Source::Discovered, concurrency: None, fail_fast: false, jobs };
    Discovered { pipeline, projects, notes }
}

fn shown(name: &str) -> String {
    path_text(name.as_bytes()).chars().take(NAME_MAX).collect()
}

/// Places of the projects by kind and folder. A folder may hold several of a kind.
fn by_folder(found: &[Found]) -> HashMap<(Kind, &str), Vec<usize>> {
    let mut places: HashMap<(Kind, &str), Vec<usize>> = HashMap::new();
    for (place, project) in found.iter().enumerate() {
        places.entry((project.kind, project.folder.as_str())).or_default().push(place);
    }
    places
}

/// A project that uses something we did not find cannot be sure of its files.
fn strangers(found: &mut [Found]) -> Vec<String> {
    let places = by_folder(found);
    let mut missing: BTreeMap<usize, &str> = BTreeMap::new();
    for (place, project) in found.iter().enumerate() {
        let stranger =
            project.uses.iter().find(|folder| !places.contains_key(&(project.kind, folder.as_str())));
        missing.extend(stranger.map(|folder| (place, folder.as_str())));
    }
    let note = |(place, folder): (&usize, &&str)| {
        let (manifest, folder) = (&found[*place].manifest, path_text(folder.as_bytes()));
        format!("{manifest} uses `{folder}`, where no project was found: it depends on all files")
    };
    let notes = missing.iter().map(note).collect();
    let unsure: Vec<usize> = missing.into_keys().collect();
    unsure.into_iter().for_each(|place| found[place].unsure = true);
    notes
}

/// For every project itself and all it uses, also through others; in the order of their places.
fn closures(found: &[Found]) -> Vec<Vec<usize>> {
    let places = by_folder(found);
    let direct = |project: &Found| -> Vec<usize> {
        let uses = project.uses.iter().filter_map(|folder| places.get(&(project.kind, folder.as_str())));
        uses.flatten().copied().collect()
    };
    let direct: Vec<Vec<usize>> = found.iter().map(direct).collect();
    let closure = |start: usize| {
        let (mut seen, mut open) = (BTreeSet::from([start]), vec![start]);
        while let Some(place) = open.pop() {
            open.extend(direct[place].iter().filter(|next| seen.insert(**next)));
        }
        seen.into_iter().collect()
    };
    (0..found.len()).map(closure).collect()
}

/// Projects that use each other are tested together.
fn circles(found: &[Found], used: &[Vec<usize>]) -> Vec<String> {
    let mut notes = Vec::new();
    for (place, uses) in used.iter().enumerate() {
        let back = |other: &&usize| **other != place && used[**other].binary_search(&place).is_ok();
        let circle: Vec<usize> = uses.iter().filter(back).copied().collect();
        if circle.first().is_some_and(|first| place < *first) {
            let names: Vec<String> =
                circle.iter().map(|other| format!("`{}`", found[*other].name)).take(5).collect();
            let others = names.join(", ");
            notes.push(format!(
                "`{}` and {others} depend on each other: a change in one tests all",
                found[place].name
            ));
        }
    }
    notes
}

/// For every project's folder, the folders of projects right within it: those whose nearest project is there.
fn within(found: &[Found]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut within: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let folders: BTreeSet<&str> = found.iter().map(|project| project.folder.as_str()).collect();
    for folder in &folders {
        if let Some(near) = around(folder).find(|around| folders.contains(around)) {
            within.entry(near).or_default().insert(folder);
        }
    }
    within
}

/// What the jobs of a project depend on: its own folder and those it uses, without the projects within them that it does
/// not use.
fn paths<'a>(
    project: &'a Found,
    used: impl Iterator<Item = &'a Found>,
    within: &BTreeMap<&str, BTreeSet<&str>>,
) -> Option<Vec<String>> {
    let used: Vec<&Found> = used.collect();
    if used.iter().any(|project| project.unsure) {
        return None;
    }
    let own: BTreeSet<&str> = used.iter().map(|project| project.folder.as_str()).collect();
    let outer = outermost(&own);
    if outer.len() > FOLDERS_MAX {
        return coarse(outer, &project.also);
    }
    let mut patterns: Vec<String> = outer.iter().map(|folder| globs::folder(folder)).collect();
    if !own.contains("") {
        patterns.extend(project.also.iter().cloned());
    }
    // A Makefile may call what lies below it.
    if project.kind != Kind::Make {
        let needed: HashSet<&str> = own.iter().flat_map(|folder| around(folder)).collect();
        let inner = own.iter().filter_map(|folder| within.get(folder)).flatten();
        let others = inner.filter(|folder| !own.contains(**folder) && !needed.contains(**folder));
        patterns.extend(others.map(|folder| format!("!{}", globs::folder(folder))));
    }
    let mut seen = HashSet::new();
    patterns.retain(|pattern| seen.insert(pattern.clone()));
    (patterns != ["**"]).then_some(patterns)
}

/// Without the folders that lie in another one.
fn outermost<'a>(folders: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let outer = |folder: &&&str| !around(folder).any(|around| folders.contains(around));
    folders.iter().filter(outer).copied().collect()
}

/// Who uses hundreds of projects depends on the folders around them: nobody would read the list.
fn coarse(mut folders: BTreeSet<&str>, also: &[String]) -> Option<Vec<String>> {
    while folders.len() > FOLDERS_MAX {
        folders = folders.into_iter().map(folder_of).collect();
        folders = outermost(&folders);
    }
    let patterns: Vec<String> = folders.into_iter().map(globs::folder).chain(also.iter().cloned()).collect();
    (patterns[0] != "**").then_some(patterns)
}

fn job_name(project: &Found, task: &Task, alone: bool, names: &mut HashSet<String>) -> String {
    let kind = project.kind.as_str();
    let own = Some(slug(&project.name)).filter(|slug| !slug.is_empty()).unwrap_or_else(|| kind.into());
    let first = if alone { task.verb.to_owned() } else { format!("{}-{own}", task.verb) };
    let numbered = (2..).map(|number| format!("{}-{own}-{kind}-{number}", task.verb));
    let mut candidates = [first, format!("{}-{own}-{kind}", task.verb)].into_iter().chain(numbered);
    candidates.find(|name| names.insert(name.clone())).expect("numbers do not end")
}

fn job(name: String, project: &Found, task: &Task, paths: Option<Vec<String>>) -> Job {
    let spec = JobSpec {
        name: name.clone(),
        workdir: (!task.folder.is_empty()).then(|| task.folder.clone()),
        image: None,
        steps: task.steps.clone(),
        env: BTreeMap::new(),
        artifacts: Vec::new(),
        caches: task.caches.clone(),
        checkout: None,
        publish: None,
        network: None,
    };
    Job {
        name,
        needs: Vec::new(),
        paths,
        required: true,
        effect_once: false,
        priority: 0,
        runs_on: project.kind.runs_on().into_iter().map(String::from).collect(),
        attempts_max: None,
        retry_on: None,
        timeout_seconds: None,
        spec,
    }
}
