//! Which files a job's artifacts are: patterns over paths in its workspace. `*` and `?` stay within a folder's name, `**`
//! does not, `{a,b}` is either.

use globset::{Glob, GlobBuilder, GlobMatcher};
use wire::runner::ArtifactSpec;

/// The most of one job.
pub const GLOBS_MAX: usize = 200;

/// The patterns of one job that can be used.
#[derive(Debug, Default)]
pub struct Globs {
    globs: Vec<One>,
}

#[derive(Debug)]
struct One {
    kind: String,
    text: String,
    matcher: GlobMatcher,
    /// One for each folder's name before the first `**`.
    folders: Vec<GlobMatcher>,
    /// Whether files may lie deeper than those folders.
    deep: bool,
}

impl Globs {
    /// What cannot be used is left out, and said in the second list.
    pub fn new(specs: &[ArtifactSpec]) -> (Globs, Vec<String>) {
        let (mut globs, mut problems) = (Vec::new(), Vec::new());
        for spec in specs.iter().take(GLOBS_MAX) {
            match One::new(spec) {
                Ok(one) => globs.push(one),
                Err(problem) => {
                    problems.push(format!("artifacts `{}` are left out: {problem}", spec.path_glob))
                }
            }
        }
        if specs.len() > GLOBS_MAX {
            problems.push(format!("artifacts after the first {GLOBS_MAX} patterns are left out"));
        }
        (Globs { globs }, problems)
    }

    pub fn len(&self) -> usize {
        self.globs.len()
    }

    /// Which patterns a file matches, by number.
    pub fn matching<'a>(&'a self, path: &'a str) -> impl Iterator<Item = usize> + 'a {
        let numbered = self.globs.iter().enumerate();
        numbered.filter(move |(_, glob)| glob.matcher.is_match(path)).map(|(number, _)| number)
    }

    /// Whether a folder may hold, at any depth, a file that matches.
    pub fn may_be_below(&self, folder: &str) -> bool {
        self.globs.iter().any(|glob| glob.may_be_below(folder))
    }

    /// Whether a pattern goes through a folder of this path by name, not only by `**`.
    pub fn names_folder(&self, folder: &str) -> bool {
        let depth = folder.split('/').count();
        self.globs.iter().any(|glob| depth <= glob.folders.len() && glob.may_be_below(folder))
    }

    /// The artifact's type.
    pub fn kind(&self, number: usize) -> &str {
        &self.globs[number].kind
    }

    /// As the job wrote it.
    pub fn text(&self, number: usize) -> &str {
        &self.globs[number].text
    }
}

impl One {
    fn new(spec: &ArtifactSpec) -> Result<One, String> {
        let text = spec.path_glob.strip_prefix("./").unwrap_or(&spec.path_glob);
        if text.starts_with('/') {
            return Err("a pattern is relative to the workspace".into());
        }
        // Also within braces: `{..,a}/b` would be `../b`.
        if text.split(['/', '{', '}', ',']).any(|part| part == "..") {
            return Err("a pattern may not lead out of the workspace with `..`".into());
        }
        if text.is_empty() || text.ends_with('/') {
            return Err("a pattern names files; for all in a folder write `folder/**`".into());
        }
        let matcher = compiled(text)?.compile_matcher();
        let mut parts: Vec<&str> = text.split('/').collect();
        let file = parts.pop().unwrap_or_default();
        // A brace around a slash cuts the parts apart: from there on nothing is known.
        let known = parts.iter().take_while(|part| !part.contains("**") && is_whole(part)).count();
        let deep = known < parts.len() || file.contains("**") || !is_whole(file);
        let folders = parts[..known].iter().map(|part| Ok(compiled(part)?.compile_matcher()));
        let folders = folders.collect::<Result<_, String>>()?;
        Ok(One { kind: spec.r#type.clone(), text: spec.path_glob.clone(), matcher, folders, deep })
    }

    fn may_be_below(&self, folder: &str) -> bool {
        let names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
        let fits = names.iter().zip(&self.folders).all(|(name, glob)| glob.is_match(name));
        fits && (names.len() <= self.folders.len() || self.deep)
    }
}

fn is_whole(part: &str) -> bool {
    part.matches('{').count() == part.matches('}').count()
}

fn compiled(text: &str) -> Result<Glob, String> {
    GlobBuilder::new(text)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(texts: &[&str]) -> (Globs, Vec<String>) {
        let spec = |text: &&str| ArtifactSpec { r#type: "t".into(), path_glob: (*text).into() };
        Globs::new(&texts.iter().map(spec).collect::<Vec<_>>())
    }

    #[test]
    fn patterns_mean_what_people_expect() {
        for (glob, yes, no) in [
            ("*.xml", &["a.xml", ".xml"][..], &["a/b.xml", "a.xmlx"][..]),
            ("**/*.xml", &["a.xml", "a/b.xml", "a/b/c.xml"], &["a.txt"]),
            (
                "target/**/junit.xml",
                &["target/junit.xml", "target/a/b/junit.xml"],
                &["junit.xml", "x/target/junit.xml"],
            ),
            ("./dist/**", &["dist/a", "dist/a/b"], &["dist", "distant"]),
            ("a?c/{x,y}.{js,css}", &["abc/x.js", "abc/y.css"], &["ac/x.js", "a/c/x.js", "abc/z.js"]),
            ("{a/b,c}/d", &["a/b/d", "c/d"], &["a/d", "b/d"]),
            ("[ab]/x", &["a/x"], &["c/x"]),
            ("plain", &["plain"], &["plainer", "a/plain"]),
        ] {
            let (globs, problems) = globs(&[glob]);
            assert!(problems.is_empty(), "{problems:?}");
            for path in yes {
                assert_eq!(globs.matching(path).count(), 1, "{glob} matches {path}");
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                let parents = folder.match_indices('/').map(|(at, _)| &folder[..at]);
                assert!(
                    parents.chain([folder]).all(|folder| globs.may_be_below(folder)),
                    "{glob} below {folder}"
                );
            }
            no.iter().for_each(|path| assert_eq!(globs.matching(path).count(), 0, "{glob}, {path}"));
        }
    }

    #[test]
    fn folders_without_a_chance_are_not_entered() {
        let (globs, _) = globs(&["target/**/junit.xml", "src/*/x", "a.txt"]);
        for (folder, enters) in [
            ("target", true),
            ("target/x/y", true),
            ("src", true),
            ("src/a", true),
            ("src/a/b", false),
            ("node_modules", false),
        ] {
            assert_eq!(globs.may_be_below(folder), enters, "{folder}");
        }
    }

    #[test]
    fn what_leads_out_or_makes_no_sense_is_left_out() {
        let bad = ["/etc/*", "../x", "a/../../x", "{..,a}/x", "{a,../x}", "", "a/", "[", "{a"];
        let (globs, problems) = globs(&bad);
        assert_eq!(globs.len(), 0, "{globs:?}");
        assert_eq!(problems.len(), bad.len(), "{problems:?}");
        assert!(problems[0].contains("`/etc/*` are left out: a pattern is relative"), "{problems:?}");
    }
}
