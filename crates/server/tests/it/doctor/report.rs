//! What the doctor reports of a whole store, also of one that it cannot read all of.

use std::path::Path;

use decisions::records::Delivery;
use decisions::{Ask, Changes, Policy};
use server::doctor::{FINDINGS_MAX, Report, examine};
use store::{Memory, OpenError, Sqlite, Store};
use wire::{JobId, MessageId};

use super::world;
use crate::script::{self, block_on};
use crate::stores::{InFile, Place};
use crate::watched::Watched;
use crate::world::World;

async fn report<S: Store>(store: &S) -> Report {
    examine(store, |_| ()).await.unwrap()
}

/// Number and thing of each finding.
fn found(report: &Report) -> Vec<(&str, &str)> {
    report.findings.iter().map(|it| (it.invariant, it.entity.as_str())).collect()
}

#[test]
fn what_the_storage_engine_finds_is_reported() {
    block_on(async {
        let report = report(&Watched::open(Memory::default()).broken("page 7 is torn")).await;
        assert_eq!(found(&report), [("I5", "the database")]);
        assert_eq!(report.findings[0].problem, "page 7 is torn");
    });
}

#[test]
fn a_row_that_the_audit_log_has_lost_is_found() {
    block_on(async {
        let report = report(&Watched::open(Memory::default()).losing(1)).await;
        assert_eq!(found(&report), [("I7", "the audit log")]);
    });
}

#[test]
fn of_many_findings_the_first_are_listed_and_more_is_said() {
    block_on(async {
        let world = world().await;
        spoil_deliveries(&world, 3).await;
        let few = report(&*world.store).await;
        assert!(!few.findings.is_empty() && few.findings.len() < FINDINGS_MAX && !few.more);
        spoil_deliveries(&world, FINDINGS_MAX as u128).await;
        let many = report(&*world.store).await;
        assert_eq!((many.findings.len(), many.more), (FINDINGS_MAX, true));
    });
}

/// Messages that nothing in the log made.
async fn spoil_deliveries(world: &World<Memory>, count: u128) {
    let known = world.deliveries().await.remove(0);
    let mut loaded = world.store.load(&[Ask::Delivery(known.id)], world.now).await.unwrap();
    let mut changes = Changes::default();
    for number in 1..=count {
        let id = MessageId::from_u128(count << 64 | number);
        changes.deliveries.insert(id, Delivery { id, reports: None, due_at: None, ..known.clone() });
    }
    loaded.book.apply(changes);
    world.store.save(loaded.session, loaded.book).await.unwrap();
}

/// Three jobs, of which the second has a state that there is not, or a state that is no text.
#[test]
fn a_record_that_cannot_be_read_is_named_and_those_after_it_are_looked_at() {
    for (damage, reason) in [(b"BOGUS!!", "column `state`: it holds `BOGUS!!`"), (b"PEND\xffNG", "utf-8")] {
        let place = InFile::new();
        let jobs = block_on(three_jobs(&place));
        patch(&place.put_away(), &[jobs[1].to_string().as_bytes(), b"PENDING"].concat(), damage);
        let report = block_on(report(&damaged(&place.path()).unwrap()));
        let bad = report.findings.iter().find(|it| it.entity == jobs[1].to_string());
        let problem = &bad.unwrap_or_else(|| panic!("{:#?}", report.findings)).problem;
        assert!(problem.contains("of jobs") && problem.contains(reason), "{problem}");
        assert_eq!((report.jobs, report.runs), (2, 0));
        assert!(report.findings.iter().all(|it| it.invariant == "I5"), "{:#?}", report.findings);
    }
}

/// Whatever page is damaged, the doctor goes as far as it can and says so, or the file is refused; it never gives up in the
/// middle.
#[test]
fn damaged_pages_are_found_and_the_rest_is_looked_at() {
    let place = InFile::new();
    block_on(three_jobs(&place));
    let whole = std::fs::read(place.put_away()).unwrap();
    let page: usize = u16::from_be_bytes([whole[16], whole[17]]).into();
    let (mut opened, mut jobs) = (0, 0);
    for at in 0..whole.len() / page {
        let mut file = whole.clone();
        file[at * page..][..page].fill(0xa5);
        std::fs::write(place.path(), &file).unwrap();
        let Ok(store) = damaged(&place.path()) else { continue };
        let report = block_on(report(&store));
        assert!(report.findings.iter().any(|it| it.invariant == "I5"), "page {at}: {:#?}", report.findings);
        assert!(report.findings.iter().all(|it| !it.problem.contains('\n')), "{:#?}", report.findings);
        (opened, jobs) = (opened + 1, jobs + report.jobs);
    }
    assert!(opened > 0 && jobs > opened, "{opened} files could be opened, {jobs} jobs could be read in them");
}

async fn three_jobs(place: &InFile) -> Vec<JobId> {
    let mut world = World::begin(place.open().await, Policy::default()).await;
    script::run(&mut world, place, "- submit J\n- submit K\n- submit L").await;
    ["J", "K", "L"].map(|name| world.job_named(name).unwrap()).into()
}

/// As far as there is something to read.
fn damaged(path: &Path) -> Result<Sqlite, OpenError> {
    Sqlite::open_damaged(path).map(|(store, _)| store)
}

/// Puts other bytes at the end of these, in a file that nobody has open: as a disk may, past all checks.
fn patch(path: &Path, known: &[u8], bytes: &[u8]) {
    let mut file = std::fs::read(path).unwrap();
    let places: Vec<usize> = (0..file.len()).filter(|at| file[*at..].starts_with(known)).collect();
    assert!(!places.is_empty(), "the file has no such bytes");
    for end in places.iter().map(|at| at + known.len()) {
        file[end - bytes.len()..end].copy_from_slice(bytes);
    }
    std::fs::write(path, file).unwrap();
}
