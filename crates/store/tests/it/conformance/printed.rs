//! What jobs print: kept in order, read from anywhere, and cut out of the middle when there is too much of it.

use decisions::leases::Lease;
use decisions::records::{Log, LogChunk};
use decisions::{Answer, Ask};
use store::{LOG_CHUNKS_MAX, Store};

use crate::commands::{ack, append, complete, exec_id, job_id, lease_job, submit};
use crate::desk::Desk;
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    chunks_are_kept_as_they_came,
    reading_begins_at_the_chunk_that_holds_the_offset,
    reading_ends_when_enough_was_read,
    many_small_chunks_are_read_in_parts,
    the_middle_is_cut_out_and_the_rest_can_be_read,
    several_parts_in_one_batch_are_kept_in_order,
    what_comes_and_goes_in_one_batch_leaves_nothing,
    logs_of_different_leases_are_apart,
    how_far_a_log_has_come_is_brought,
    any_bytes_survive,
]);

const ALL: usize = usize::MAX;

/// A desk with jobs at work, one lease each.
async fn at_work<S: Store>(desk: Desk<S>, jobs: u128) -> (Desk<S>, Vec<Lease>) {
    let desk = desk.open().await;
    desk.must_all((1..=jobs).map(submit)).await;
    let leases: Vec<Lease> = (1..=jobs).map(|number| lease_job(number, job_id(number))).collect();
    desk.must_all(leases.clone()).await;
    desk.must_all(leases.iter().map(ack)).await;
    (desk, leases)
}

/// As many bytes of the endless text of which every byte tells its own offset.
fn text(offset: u64, length: u64) -> Vec<u8> {
    (offset..offset + length).map(|place| place as u8).collect()
}

fn appended(offset: u64, truncated: bool) -> Answer {
    Answer::LogAppended { offset, truncated }
}

fn places(chunks: &[LogChunk]) -> Vec<(u64, u64)> {
    chunks.iter().map(|chunk| (chunk.offset, chunk.end())).collect()
}

async fn read<S: Store>(desk: &Desk<S>, from: u64, bytes_max: usize) -> Vec<(u64, u64)> {
    let chunks = desk.store.log_chunks(exec_id(1), from, bytes_max).await.unwrap();
    for chunk in &chunks {
        assert_eq!(*chunk.bytes, *text(chunk.offset, chunk.bytes.len() as u64), "{chunk:?}");
    }
    places(&chunks)
}

async fn chunks_are_kept_as_they_came<S: Store>(desk: Desk<S>) {
    let (desk, leases) = at_work(desk, 1).await;
    assert_eq!(desk.store.log(exec_id(1)).await, Ok(None), "it has printed nothing");
    for (offset, length) in [(0, 5), (5, 1), (6, 20)] {
        let answer = desk.must(append(&leases[0], offset, &text(offset, length))).await;
        assert_eq!(answer, appended(offset + length, false));
    }
    let log = Log { execution: exec_id(1), received: 26, head: 26, tail_from: 26, blob: None };
    assert_eq!(desk.store.log(exec_id(1)).await, Ok(Some(log)));
    assert_eq!(read(&desk, 0, ALL).await, [(0, 5), (5, 6), (6, 26)]);
    desk.must(complete(&leases[0])).await;
    assert_eq!(read(&desk, 0, ALL).await, [(0, 5), (5, 6), (6, 26)], "it outlives its lease");
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn reading_begins_at_the_chunk_that_holds_the_offset<S: Store>(desk: Desk<S>) {
    let (desk, leases) = at_work(desk, 1).await;
    for offset in [0, 10, 20] {
        desk.must(append(&leases[0], offset, &text(offset, 10))).await;
    }
    assert_eq!(read(&desk, 9, ALL).await, [(0, 10), (10, 20), (20, 30)]);
    assert_eq!(read(&desk, 10, ALL).await, [(10, 20), (20, 30)]);
    assert_eq!(read(&desk, 11, ALL).await, [(10, 20), (20, 30)]);
    assert_eq!(read(&desk, 29, ALL).await, [(20, 30)]);
    assert_eq!(read(&desk, 30, ALL).await, []);
    assert_eq!(read(&desk, u64::MAX, ALL).await, []);
}

async fn reading_ends_when_enough_was_read<S: Store>(desk: Desk<S>) {
    let (desk, leases) = at_work(desk, 1).await;
    for offset in [0, 10, 20] {
        desk.must(append(&leases[0], offset, &text(offset, 10))).await;
    }
    assert_eq!(read(&desk, 0, 0).await, [(0, 10)], "one at least");
    assert_eq!(read(&desk, 0, 19).await, [(0, 10)]);
    assert_eq!(read(&desk, 0, 20).await, [(0, 10), (10, 20)]);
    assert_eq!(read(&desk, 10, 20).await, [(10, 20), (20, 30)]);
    assert_eq!(read(&desk, 5, 20).await, [(0, 10), (10, 20)]);
}

async fn many_small_chunks_are_read_in_parts<S: Store>(desk: Desk<S>) {
    let (desk, leases) = at_work(desk, 1).await;
    let count = LOG_CHUNKS_MAX as u64 + 3;
    desk.must_all((0..count).map(|offset| append(&leases[0], offset, &text(offset, 1)))).await;
    let first = read(&desk, 0, ALL).await;
    assert_eq!((first.len(), first.last()), (LOG_CHUNKS_MAX, Some(&(count - 4, count - 3))));
    assert_eq!(read(&desk, 1, ALL).await.len(), LOG_CHUNKS_MAX);
    assert_eq!(read(&desk, count - 3, ALL).await.len(), 3);
}

async fn the_middle_is_cut_out_and_the_rest_can_be_read<S: Store>(desk: Desk<S>) {
    let (desk, leases) = at_work(desk, 1).await;
    let desk = desk.with_policy(|policy| (policy.log_head_bytes_max, policy.log_tail_bytes_max) = (15, 20));
    for offset in (0..100).step_by(10) {
        let answer = desk.must(append(&leases[0], offset, &text(offset, 10))).await;
        assert_eq!(answer, appended(offset + 10, offset + 10 > 35));
        assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
    }
    let log = Log { execution: exec_id(1), received: 100, head: 15, tail_from: 80, blob: None };
    assert_eq!(desk.store.log(exec_id(1)).await, Ok(Some(log)));
    assert_eq!(read(&desk, 0, ALL).await, [(0, 10), (10, 15), (80, 90), (90, 100)]);
    assert_eq!(read(&desk, 15, ALL).await, [(80, 90), (90, 100)]);
    assert_eq!(read(&desk, 50, ALL).await, [(80, 90), (90, 100)]);
    // A chunk that reaches into what is kept stays whole.
    desk.must(append(&leases[0], 100, &text(100, 5))).await;
    assert_eq!(read(&desk, 15, ALL).await, [(80, 90), (90, 100), (100, 105)]);
    desk.must(append(&leases[0], 105, &text(105, 5))).await;
    assert_eq!(read(&desk, 15, ALL).await, [(90, 100), (100, 105), (105, 110)]);
}

async fn several_parts_in_one_batch_are_kept_in_order<S: Store>(desk: Desk<S>) {
    let (desk, leases) = at_work(desk, 2).await;
    let (one, two) = (&leases[0], &leases[1]);
    let answers = desk
        .must_all([
            append(one, 0, &text(0, 3)),
            append(two, 0, b"two"),
            append(one, 3, &text(3, 4)),
            append(two, 3, b"!"),
        ])
        .await;
    assert_eq!(answers, [appended(3, false), appended(3, false), appended(7, false), appended(4, false)]);
    assert_eq!(read(&desk, 0, ALL).await, [(0, 3), (3, 7)]);
    let of_two = desk.store.log_chunks(exec_id(2), 0, ALL).await.unwrap();
    assert_eq!(of_two.iter().flat_map(|chunk| chunk.bytes.iter().copied()).collect::<Vec<u8>>(), b"two!");
}

async fn what_comes_and_goes_in_one_batch_leaves_nothing<S: Store>(desk: Desk<S>) {
    let (desk, leases) = at_work(desk, 1).await;
    let desk = desk.with_policy(|policy| (policy.log_head_bytes_max, policy.log_tail_bytes_max) = (0, 10));
    let parts = (0..10).map(|part| append(&leases[0], part * 10, &text(part * 10, 10)));
    desk.must_all(parts).await;
    assert_eq!(read(&desk, 0, ALL).await, [(90, 100)]);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn logs_of_different_leases_are_apart<S: Store>(desk: Desk<S>) {
    let (desk, leases) = at_work(desk, 2).await;
    let desk = desk.with_policy(|policy| (policy.log_head_bytes_max, policy.log_tail_bytes_max) = (0, 5));
    desk.must_all([append(&leases[0], 0, &text(0, 5)), append(&leases[1], 0, &text(0, 5))]).await;
    desk.must(append(&leases[0], 5, &text(5, 5))).await; // cuts its own only
    assert_eq!(read(&desk, 0, ALL).await, [(5, 10)]);
    assert_eq!(places(&desk.store.log_chunks(exec_id(2), 0, ALL).await.unwrap()), [(0, 5)]);
}

async fn how_far_a_log_has_come_is_brought<S: Store>(desk: Desk<S>) {
    let (desk, leases) = at_work(desk, 1).await;
    desk.must(append(&leases[0], 0, b"one")).await;
    let log = Log { execution: exec_id(1), received: 3, head: 3, tail_from: 3, blob: None };
    let book = desk.book(&[Ask::Log(exec_id(1))]).await;
    assert_eq!(book.logs.peek(&exec_id(1)), Some(&log));
    assert!(!desk.look(&[Ask::Log(exec_id(9))], |book| book.logs.has(&exec_id(9))).await);
}

async fn any_bytes_survive<S: Store>(desk: Desk<S>) {
    let (desk, leases) = at_work(desk, 1).await;
    let bytes: Vec<u8> = (0..=255).cycle().take(desk.policy.log_chunk_bytes_max).collect();
    desk.must(append(&leases[0], 0, &bytes)).await;
    let chunks = desk.store.log_chunks(exec_id(1), 0, 1).await.unwrap();
    assert_eq!((chunks.len(), &*chunks[0].bytes), (1, &bytes[..]));
}
