//! .NET: project files and what they refer to. Test projects are tested, and what nobody uses is built.

use std::collections::{BTreeMap, BTreeSet};

use super::found::{Findings, Found, Kind, Task};
use super::repository::{Repository, around, beneath, folder_of, joined, name_of, unreadable};
use super::words::quoted;
use crate::globs::literal;

const PROJECTS: [&str; 3] = [".csproj", ".fsproj", ".vbproj"];
/// In any folder around a project, these change how it is built.
const SETTINGS: &str =
    "{Directory.*.props,Directory.*.targets,global.json,[Nn]u[Gg]et.[Cc]onfig,*.sln,*.slnx}";

pub fn find(repository: &Repository) -> Findings {
    let mut findings = Findings::default();
    let is_project = |name: &str| PROJECTS.iter().any(|ending| name.ends_with(ending));
    let mut doubts = Vec::new();
    let mut texts = BTreeMap::new();
    for manifest in repository.manifests(&mut findings.notes, is_project) {
        if !manifest.text.as_ref().is_some_and(|text| text.contains("<Project")) {
            doubts.push(manifest.path);
        }
        texts.insert(manifest.path, manifest.text.unwrap_or_default());
    }
    let mut refers: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in &texts {
        let included = elements(text, "ProjectReference").filter_map(|element| attribute(element, "Include"));
        refers.insert(path, included.filter_map(|place| joined(folder_of(path), place)).collect());
    }
    let used: BTreeSet<&str> = refers.values().flatten().map(String::as_str).collect();
    for (path, text) in &texts {
        let tests = text.contains("Microsoft.NET.Test.Sdk") || text.contains("<IsTestProject>true");
        let verb = match (tests, used.contains(path)) {
            (true, _) => Some("test"),
            (false, false) => Some("build"),
            (false, true) => None,
        };
        findings.projects.push(found(path, &refers[path], verb));
    }
    if texts.is_empty() {
        let solutions = repository.manifests(&mut findings.notes, |name| name.ends_with(".sln"));
        for solution in solutions {
            let mut project = found(solution.path, &[], Some("test"));
            project.unsure = true;
            findings.projects.push(project);
            doubts.push(solution.path);
        }
    }
    doubts.into_iter().for_each(|path| findings.doubt(unreadable(path)));
    findings
}

fn found(path: &str, refers: &[String], verb: Option<&'static str>) -> Found {
    let folder = folder_of(path);
    let file = name_of(path);
    let mut uses: Vec<String> = refers.iter().map(|path| folder_of(path).to_owned()).collect();
    uses.retain(|used| used != folder);
    Found {
        kind: Kind::Dotnet,
        name: file.rsplit_once('.').map_or(file, |(name, _)| name).into(),
        folder: folder.into(),
        manifest: path.into(),
        uses,
        also: around(folder).map(|folder| beneath(&literal(folder), SETTINGS)).collect(),
        unsure: false,
        tasks: verb
            .into_iter()
            .map(|verb| Task::new(verb, folder, vec![format!("dotnet {verb} {}", quoted(file))]))
            .collect(),
    }
}

/// What stands between `<name` and `>`, for every element of that name outside of comments.
fn elements<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let outside = text.split("<!--").enumerate().filter_map(|(number, part)| match number {
        0 => Some(part),
        _ => part.split_once("-->").map(|(_, after)| after),
    });
    outside.flat_map(move |part| part.split('<').skip(1)).filter_map(move |part| {
        let rest = part.strip_prefix(name)?;
        let inside = rest.split('>').next()?;
        inside.starts_with(|letter: char| letter.is_whitespace()).then_some(inside)
    })
}

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = element.split_once(name)?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    rest[1..].split_once(quote).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_however_they_are_written() {
        let text = "<Project>\n<!-- <ProjectReference Include=\"no\" /> -->\n<ProjectReference\n  Include = '..\\A\\A.csproj'>\
                    </ProjectReference><ProjectReferences Include=\"no\"/><ProjectReference Include=\"b\" /><ProjectReference";
        let found: Vec<_> =
            elements(text, "ProjectReference").filter_map(|element| attribute(element, "Include")).collect();
        assert_eq!(found, ["..\\A\\A.csproj", "b"]);
    }
}
