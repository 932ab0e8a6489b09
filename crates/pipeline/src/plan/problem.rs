//! Why there is no plan.

use crate::globs::BadPattern;

/// Expected, and for the person who asked: each has one stable code and says what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanProblem {
    #[error("there is no job `{name}`{}", hint(suggestion.as_deref()))]
    UnknownJob { name: String, suggestion: Option<String> },
    #[error("job `{job}` needs `{need}`, which is not in the pipeline")]
    UnknownNeed { job: String, need: String },
    #[error("two jobs are named `{name}`: give one of them another name")]
    SameName { name: String },
    #[error("job `{job}` needs itself, directly or through others: take one of the needs away")]
    Cycle { job: String },
    #[error("job `{job}` has a pattern that cannot be used, `{entry}`: {problem}")]
    Pattern { job: String, entry: String, problem: String },
    #[error("the patterns of all jobs cannot be used together: {problem}; use fewer or simpler ones")]
    Patterns { problem: String },
    #[error(
        "job `{job}` would publish under the {field} `{name}`, which cannot be: {problem}; {}",
        field_hint(field)
    )]
    Unpublishable { job: String, field: &'static str, name: String, problem: String },
    #[error(
        "jobs `{}` and `{}` both publish {package} {version}: give one of them another package or version",
        jobs[0],
        jobs[1]
    )]
    SameVersion { jobs: [String; 2], package: String, version: String },
}

impl PlanProblem {
    pub fn code(&self) -> &'static str {
        match self {
            PlanProblem::UnknownJob { .. } => "unknown_job",
            PlanProblem::UnknownNeed { .. } => "unknown_need",
            PlanProblem::SameName { .. } => "same_name",
            PlanProblem::Cycle { .. } => "needs_cycle",
            PlanProblem::Pattern { .. } => "bad_pattern",
            PlanProblem::Patterns { .. } => "patterns_too_large",
            PlanProblem::Unpublishable { .. } => "bad_version",
            PlanProblem::SameVersion { .. } => "same_version",
        }
    }

    /// With its code, as people are told.
    pub fn in_full(&self) -> String {
        format!("{self} [{}]", self.code())
    }

    pub(super) fn of_pattern(job: &str, bad: BadPattern) -> PlanProblem {
        PlanProblem::Pattern { job: job.into(), entry: bad.entry, problem: bad.problem }
    }
}

fn field_hint(field: &str) -> &'static str {
    match field {
        "version" => "put a word before what is filled in, as in `v-{branch}`, or use `{commit}`",
        _ => "use another name",
    }
}

fn hint(suggestion: Option<&str>) -> String {
    match suggestion {
        Some(name) => format!("; did you mean `{name}`?"),
        None => "; `deltaci plan` lists the jobs there are".into(),
    }
}
