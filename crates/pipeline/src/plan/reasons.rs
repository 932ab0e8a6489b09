//! Reasons, in words and as data. A rule's name is stable; its words are for people.

use wire::api::Reason;

use super::changes::Changes;
use super::text::{path_text, short};
use crate::facts::Success;

fn plain(rule: &str, detail: impl Into<String>) -> Reason {
    Reason { rule: rule.into(), detail: detail.into(), ..Reason::default() }
}

pub fn changed(base: &str, changes: &Changes) -> Reason {
    let files: Vec<String> = changes.first.iter().map(|path| path_text(path)).collect();
    let first = files.first().map_or("", String::as_str);
    let base_text = short(base);
    let detail = match changes.count {
        1 => format!("{first} changed since {base_text}"),
        many => format!("{first} and {} more changed since {base_text}", many - 1),
    };
    Reason { files, base: Some(base.into()), ..plain("changed", detail) }
}

pub fn unchanged(base: &str) -> Reason {
    let detail = format!("nothing it depends on changed since {}", short(base));
    Reason { base: Some(base.into()), ..plain("unchanged", detail) }
}

pub fn need_changed(base: &str, need: &str) -> Reason {
    let detail = format!("`{need}`, which it needs, is affected by what changed since {}", short(base));
    Reason { base: Some(base.into()), ..plain("needs", detail) }
}

/// It runs anew, or no earlier success can stand in for it.
pub fn need_runs(need: &str, runs: bool) -> Reason {
    let detail = match runs {
        true => format!("`{need}`, which it needs, runs"),
        false => format!("`{need}`, which it needs, is never reused"),
    };
    plain("needs", detail)
}

pub fn reuse(success: &Success) -> Reason {
    let detail = format!("{} succeeded with the same inputs in {}", success.job, success.run);
    Reason { run: Some(success.run), job: Some(success.job), ..plain("reuse", detail) }
}

pub fn new_inputs() -> Reason {
    plain("new-inputs", "no earlier success had the same inputs")
}

pub fn no_reuse() -> Reason {
    plain("no-reuse", "earlier successes were not to be used")
}

pub fn effect_once() -> Reason {
    plain("effect-once", "its effect happens once for each run, so no earlier success stands in for it")
}

pub fn all() -> Reason {
    plain("all", "nothing was to be skipped")
}

pub fn no_base() -> Reason {
    plain("no-base", "nobody named a base to compare with")
}

pub fn no_difference(why: &str) -> Reason {
    plain("no-difference", format!("what changed is not known: {why}"))
}

pub fn named() -> Reason {
    plain("selected", "it was asked for by name")
}

pub fn needed_by(name: &str) -> Reason {
    plain("selected", format!("`{name}`, which was asked for, needs it"))
}

pub fn not_selected() -> Reason {
    plain("not-selected", "other jobs were asked for by name")
}

/// No reason why it runs, but what whoever reads the plan should know before it does.
pub fn same_version(rival: &str) -> Reason {
    let detail = format!(
        "`{rival}` publishes the same version: the first to succeed makes it, and a job that made something else then \
         fails; put a value of the matrix into the version"
    );
    plain("same-version", detail)
}

pub fn discovered() -> Reason {
    plain("discovered", "there is no delta-ci.yaml; the job was found from its project's files")
}
