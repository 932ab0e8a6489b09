//! The contract of the executors (`src/executors/mod.rs`), the same scripts for all of them.

mod caches;
mod ends;
mod output;
mod podman;
mod surroundings;
mod walls;

use runner::keeper::Choice;

use crate::kept::World;

/// Every script of the contract, for every executor.
macro_rules! contract {
    ($($file:ident :: $script:ident),* $(,)?) => {
        /// All of them with one engine, which takes longer to start than a script to run.
        #[tokio::test]
        async fn docker_holds_the_contract() {
            let engine = podman::Engine::start().await;
            let queue = tokio::sync::Semaphore::new(podman::AT_ONCE_MAX);
            tokio::join!($(async {
                let _turn = queue.acquire().await.unwrap();
                println!("{} ...", stringify!($script));
                $file::$script(engine.world()).await;
                println!("{} ok", stringify!($script));
            }),*);
            engine.is_clean().await;
        }

        mod process {
            $(#[tokio::test]
            async fn $script() {
                super::$file::$script(super::World::of(super::Choice::Process)).await;
            })*
        }
        mod sandbox {
            $(#[tokio::test]
            async fn $script() {
                super::$file::$script(super::World::of(super::Choice::Sandbox)).await;
            })*
        }
    };
}

contract! {
    output::the_code_of_a_step_is_reported_and_a_failed_step_is_the_last,
    output::a_signal_is_128_and_its_number,
    output::both_streams_arrive_in_the_order_they_were_written,
    output::ten_megabytes_arrive_whole,
    output::every_byte_arrives_as_it_is,
    output::a_slow_reader_slows_the_job_and_loses_nothing,
    output::a_step_reads_nothing,
    surroundings::the_environment_holds_what_the_job_set_and_nothing_of_ours,
    surroundings::steps_begin_in_the_workdir,
    surroundings::a_workdir_outside_the_workspace_is_refused,
    surroundings::home_and_temporary_folder_are_fresh,
    surroundings::steps_share_files_and_background_processes,
    surroundings::memory_is_limited,
    surroundings::the_number_of_processes_is_limited,
    caches::what_a_job_leaves_the_next_one_finds,
    caches::a_job_that_fails_packs_nothing,
    caches::an_archive_that_is_broken_does_not_keep_the_job_from_running,
    ends::a_job_may_end_itself_when_canceled,
    ends::every_process_gets_the_grace,
    ends::a_job_that_ignores_sigterm_is_killed_after_the_grace,
    ends::a_job_that_takes_too_long_is_stopped,
    ends::a_job_ends_with_its_lease,
    ends::a_renewed_lease_lets_the_job_go_on,
    ends::daemons_end_with_the_job,
    ends::dropping_the_handle_ends_the_job,
    ends::ending_the_keeper_waits_until_all_is_gone,
    ends::nobody_who_reads_does_not_keep_the_job_alive,
    ends::a_killed_agent_takes_the_job_along,
    ends::a_frozen_agent_does_not_keep_the_job_past_its_lease,
    ends::a_killed_keeper_takes_the_job_along,
}
