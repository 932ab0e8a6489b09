//! Clauses 2 and 3: steps and their output.

use std::time::Duration;

use runner::keeper::Finish;

use crate::kept::World;

pub async fn the_code_of_a_step_is_reported_and_a_failed_step_is_the_last(world: World) {
    let told = world.job(["echo one", "echo two; exit 7", "echo three"]).run().await;
    assert_eq!(told.finish, Some(Finish::StepFailed { index: 1, exit_code: 7 }));
    assert_eq!(told.ended, [(0, 0), (1, 7)]);
    assert_eq!(told.started, [0, 1]);
    assert_eq!(told.text(), "one\ntwo\n");

    let told = world.job(["false\necho not reached"]).run().await;
    assert_eq!(told.finish, Some(Finish::StepFailed { index: 0, exit_code: 1 }));
    assert_eq!(told.text(), "");
}

pub async fn a_signal_is_128_and_its_number(world: World) {
    let told = world.job(["echo one; kill -KILL $$"]).run().await;
    assert_eq!(told.finish, Some(Finish::StepFailed { index: 0, exit_code: 137 }));
    assert!(told.text().starts_with("one\n"), "{}", told.text());
    let told = world.job(["kill -SEGV $$"]).run().await;
    assert_eq!(told.finish, Some(Finish::StepFailed { index: 0, exit_code: 139 }));
}

pub async fn both_streams_arrive_in_the_order_they_were_written(world: World) {
    let script = "i=0; while [ $i -lt 500 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";
    let told = world.job([script, "echo last"]).run().await;
    let expected: String = (0..500).map(|i| format!("out {i}\nerr {i}\n")).collect();
    assert_eq!(told.succeeded().text(), expected + "last\n");
}

pub async fn ten_megabytes_arrive_whole(world: World) {
    const BYTES: usize = 10 * 1024 * 1024;
    let told = world.job([&format!("yes 0123456789abcde | head -c {BYTES}")]).run().await;
    assert_eq!(told.succeeded().output.len(), BYTES);
    assert!(told.output.chunks(16).all(|line| line == b"0123456789abcde\n"));
}

pub async fn every_byte_arrives_as_it_is(world: World) {
    // The escapes of all bytes in octal, as `printf` reads them.
    let escapes: String = (0..=255).map(|byte| format!("\\{byte:03o}")).collect();
    let told = world.job([&format!("printf '{escapes}{escapes}'")]).run().await;
    let expected: Vec<u8> = (0..=255).chain(0..=255).collect();
    assert_eq!(told.succeeded().output, expected);
}

/// The agent takes little at first. The job must wait for it, and the keeper must not keep what nobody takes.
pub async fn a_slow_reader_slows_the_job_and_loses_nothing(world: World) {
    const BYTES: usize = 32 * 1024 * 1024;
    const KEEPER_KIB_MAX: u64 = 24 * 1024;
    let mut kept = world.job([&format!("yes 0123456789abcde | head -c {BYTES}")]).start();
    for _ in 0..10 {
        kept.hear().await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let memory = memory_peak_kib(kept.keeper.id().unwrap());
    assert!(memory < KEEPER_KIB_MAX, "the keeper took {memory} KiB");
    let told = kept.finish().await;
    assert_eq!(told.succeeded().output.len(), BYTES);
}

fn memory_peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

pub async fn a_step_reads_nothing(world: World) {
    let told = world.job(["cat; echo end", "read x || echo nothing"]).run().await;
    assert_eq!(told.succeeded().text(), "end\nnothing\n");
}
