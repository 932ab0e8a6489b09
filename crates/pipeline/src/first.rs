//! The first `delta-ci.yaml` of a repository, written from what was found in it: short enough to be read, and commented
//! for somebody who has never seen one.

use crate::definition::Job;
use crate::discover::{Discovered, Project};

const HEAD: &str = "\
# What Delta CI does for this repository.
#
#   deltaci run                   run it here
#   deltaci plan --base main      what a change would run, and why
#
# `paths` are the files that a job depends on: when none of them changed, the job is skipped or its earlier success is
# reused. Without `paths` it depends on all files. Other keys: needs, matrix, env, artifacts, timeout, retry, publish.
version: 1

# A newer run of a branch takes the place of an older one:
# concurrency: { group: \"{branch}\", cancel: true }

jobs:
";

const HELLO: &str = "\
  # No project was found that could be tested, so here is something to begin with.
  hello:
    run: echo \"Hello from Delta CI\"

  # Runs when `hello` has succeeded. Put your own commands here.
  test:
    needs: [hello]
    run:
      - echo \"one step after the other\"
      - ls
";

pub fn first_file(found: &Discovered) -> String {
    let mut text = String::from(HEAD);
    let mut first = true;
    for job in &found.pipeline.jobs {
        if !first {
            text.push('\n');
        }
        first = false;
        let project = found.projects.iter().find(|project| project.jobs.contains(&job.name));
        add(&mut text, job, project);
    }
    if first {
        text.push_str(HELLO);
    }
    if !found.notes.is_empty() {
        text.push_str("\n# Notes from looking at the repository:\n");
    }
    for note in &found.notes {
        text.push_str(&format!("# - {}\n", note.replace(|letter: char| letter.is_control(), " ")));
    }
    text
}

fn add(text: &mut String, job: &Job, project: Option<&Project>) {
    if let Some(project) = project {
        text.push_str(&format!("  # {}\n", project.manifest));
    }
    text.push_str(&format!("  {}:\n", scalar(&job.name)));
    if !job.runs_on.is_empty() {
        let tags: Vec<String> = job.runs_on.iter().map(|tag| format!("{tag:?}")).collect();
        text.push_str(&format!("    runs_on: [{}]\n", tags.join(", ")));
    }
    if let Some(folder) = &job.spec.workdir {
        text.push_str(&format!("    workdir: {}\n", scalar(folder)));
    }
    match job.spec.steps.as_slice() {
        [one] => text.push_str(&format!("    run: {}\n", scalar(one))),
        steps => list(text, "    ", "run", steps),
    }
    if let Some(paths) = &job.paths {
        list(text, "    ", "paths", paths);
    }
    if !job.spec.caches.is_empty() {
        text.push_str("    caches:\n");
    }
    for cache in &job.spec.caches {
        let lines = [("- type", &cache.r#type), ("  key", &cache.key)];
        lines.iter().for_each(|(key, value)| text.push_str(&format!("      {key}: {}\n", scalar(value))));
        list(text, "        ", "paths", &cache.paths);
    }
}

fn list(text: &mut String, indent: &str, key: &str, entries: &[String]) {
    if entries.is_empty() {
        text.push_str(&format!("{indent}{key}: []\n"));
        return;
    }
    text.push_str(&format!("{indent}{key}:\n"));
    entries.iter().for_each(|entry| text.push_str(&format!("{indent}  - {}\n", scalar(entry))));
}

/// As it is where YAML would read it as that text, else in quotes. A JSON string is a YAML string.
fn scalar(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./=+@ -".contains(&byte);
    let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let words = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let is_word = words.contains(&text.to_ascii_lowercase().as_str());
    if begins && !is_word && !text.ends_with(' ') && text.bytes().all(plain) {
        return text.into();
    }
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_yaml_reads_as_text_stands_without_quotes() {
        for plain in ["cargo test --locked", "src/main.rs", "a"] {
            assert_eq!(scalar(plain), plain);
        }
        for (text, quoted) in [
            ("**", "\"**\""),
            ("no", "\"no\""),
            ("1", "\"1\""),
            ("a: b", "\"a: b\""),
            ("a #b", "\"a #b\""),
            ("a\n", "\"a\\n\""),
            ("a ", "\"a \""),
            ("", "\"\""),
        ] {
            assert_eq!(scalar(text), quoted);
        }
    }
}
