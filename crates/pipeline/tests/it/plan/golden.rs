//! Golden plans. Each file in `cases/` holds a script, a line `---`, and the plan it gives, byte for byte. With
//! `DELTACI_GOLDEN=write` the plans are written anew: read the difference before you commit it.

use super::script::Scene;
use crate::golden::cases;

fn seen(script: &str) -> String {
    let plan = || match Scene::read(script).plan() {
        Ok(plan) => serde_json::to_string_pretty(&plan).expect("JSON") + "\n",
        Err(problem) => format!("{}: {problem}\n", problem.code()),
    };
    let first = plan();
    assert_eq!(first, plan(), "the same input gives the same bytes");
    first
}

cases! {
    "plan/cases", seen,
    a_branch_and_a_commit_are_filled_in
    a_branch_becomes_a_name_that_a_version_can_have
    a_change_in_the_chain_reaches_what_needs_it
    a_changed_pipeline_file_skips_nothing
    a_deleted_file_is_a_change
    a_difference_that_is_not_known_skips_nothing
    a_file_that_became_executable_makes_new_inputs
    a_matrix_is_named_as_a_whole
    a_matrix_that_publishes_one_version_is_told
    a_named_job_runs_with_what_it_needs
    a_need_that_is_reused_lets_its_dependent_be_reused
    a_need_that_runs_lets_nothing_after_it_be_reused
    a_renamed_file_counts_under_both_names
    a_version_that_cannot_be_named_is_refused
    a_wrong_job_name_gets_a_suggestion
    all_skips_nothing_and_still_reuses
    an_effect_that_happens_once_is_never_reused
    an_empty_repository_has_a_plan
    an_entry_with_a_bang_takes_files_away
    an_untrusted_run_reuses_both_kinds
    discovered_jobs_say_so
    many_changed_files_are_counted
    no_reuse_reuses_nothing
    no_version_is_published_by_two_jobs
    odd_paths_are_written_out
    only_versions_of_jobs_that_run_are_compared
    the_base_skips_what_did_not_change
    the_hash_of_a_cache_key_is_that_of_its_files
    trusted_runs_do_not_reuse_what_strangers_made
    without_a_base_nothing_is_skipped
    without_a_commit_the_files_name_the_version
}
