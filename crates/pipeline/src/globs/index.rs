//! Many patterns, asked together: a path's folders lead to the few patterns that begin with them, and only those are
//! tried. So the cost of a path does not grow with the patterns of other folders.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::pattern::split;
use super::several::Several;

#[derive(Debug, Default)]
pub struct Index {
    folders: HashMap<Box<[u8]>, Group>,
}

/// The patterns that begin with one folder.
#[derive(Debug, Default)]
struct Group {
    /// Those that match whatever lies below.
    all: Vec<u32>,
    /// Those that are tried on the rest of the path, in the order of the set.
    tried: Vec<u32>,
    set: Option<Rc<Several>>,
}

impl Index {
    /// Patterns are known by their place in the list. Fails on what no matcher can be made of.
    pub fn new(patterns: &[String]) -> Result<Index, String> {
        let mut folders: BTreeMap<&str, Vec<(&str, u32)>> = BTreeMap::new();
        for (number, text) in (0..).zip(patterns) {
            let (folder, rest) = split(text);
            folders.entry(folder).or_default().push((rest, number));
        }
        // Folders often hold the same patterns, such as `src/*.rs`: they share one matcher.
        let mut sets: HashMap<Vec<&str>, Rc<Several>> = HashMap::new();
        let mut index = Index::default();
        for (folder, patterns) in folders {
            let (all, tried): (Vec<_>, Vec<_>) = patterns.into_iter().partition(|(rest, _)| *rest == "**");
            let texts: Vec<&str> = tried.iter().map(|(rest, _)| *rest).collect();
            let set = match (texts.is_empty(), sets.get(&texts)) {
                (true, _) => None,
                (false, Some(set)) => Some(Rc::clone(set)),
                (false, None) => {
                    let set = Rc::new(Several::new(&texts)?);
                    sets.insert(texts, Rc::clone(&set));
                    Some(set)
                }
            };
            let numbers =
                |patterns: Vec<(&str, u32)>| patterns.into_iter().map(|(_, number)| number).collect();
            let group = Group { all: numbers(all), tried: numbers(tried), set };
            index.folders.insert(folder.as_bytes().into(), group);
        }
        Ok(index)
    }

    /// Puts the numbers of the patterns that match into `found`, which is emptied first.
    pub fn matching(&self, path: &[u8], found: &mut Vec<u32>) {
        found.clear();
        self.look("".as_bytes(), path, found);
        for (slash, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            self.look(&path[..slash], &path[slash + 1..], found);
        }
    }

    fn look(&self, folder: &[u8], rest: &[u8], found: &mut Vec<u32>) {
        let Some(group) = self.folders.get(folder) else { return };
        found.extend(&group.all);
        if let Some(set) = &group.set {
            set.matching(rest, |place| found.push(group.tried[place]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_people_expect() {
        for (glob, yes, no) in [
            ("*.xml", &["a.xml", ".xml"][..], &["a/b.xml", "a.xmlx"][..]),
            ("**/*.xml", &["a.xml", "a/b.xml", "a/b/c.xml"], &["a.txt"]),
            ("target/**/junit.xml", &["target/junit.xml", "target/a/b/junit.xml"], &["x/target/junit.xml"]),
            ("dist/**", &["dist/a", "dist/a/b", "dist/.x"], &["dist", "distant", "a/dist/b"]),
            ("a?c/{x,y}.{js,css}", &["abc/x.js", "abc/y.css"], &["ac/x.js", "a/c/x.js", "abc/z.js"]),
            ("{a/b,c}/d", &["a/b/d", "c/d"], &["a/d", "b/d"]),
            ("a/**/b/**", &["a/b/c", "a/x/b/c/d"], &["a/b", "a/x"]),
            ("**/a/*", &["a/b", "x/a/b"], &["a/b/c", "xa/b"]),
            ("plain", &["plain"], &["plainer", "a/plain"]),
            ("a/\\*/b", &["a/*/b"], &["a/x/b"]),
            ("**", &["a", "a/b", "a\nb/c"], &[]),
            ("x/*", &["x/a\nb", "x/ü"], &["x/a/b"]),
        ] {
            let index = Index::new(&[glob.into()]).expect(glob);
            let mut found = Vec::new();
            let mut matches = |path: &str| {
                index.matching(path.as_bytes(), &mut found);
                found == [0]
            };
            yes.iter().for_each(|path| assert!(matches(path), "{glob} matches {path}"));
            no.iter().for_each(|path| assert!(!matches(path), "{glob} does not match {path}"));
        }
    }

    #[test]
    fn a_path_that_is_no_text_is_matched_too() {
        let index = Index::new(&["a/**".into(), "**/*.c".into(), "a/?.c".into()]).expect("patterns");
        let mut found = Vec::new();
        index.matching(b"a/\xff.c", &mut found);
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2]);
    }
}
