//! Every interleaving of a few actors, each world once.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use wire::Time;

use crate::artifacts::actors::{Actor, Kind};
use crate::artifacts::checks::{check, check_rested, come_to_rest};
use crate::artifacts::world::World;

/// What goes wrong after each step.
type Mistake = fn(&mut World);

struct Search {
    seen: HashSet<u64>,
    rested: usize,
    planted: Mistake,
}

/// What tells two moments apart. Audit rows and stamps of the last change are not in it.
fn fingerprint(world: &World, actors: &[Actor]) -> u64 {
    let mut world = world.clone();
    world.blobs.values_mut().for_each(|it| it.updated_at = it.created_at);
    world.uploads.values_mut().for_each(|it| it.updated_at = it.created_at);
    world.versions.iter_mut().for_each(|it| it.updated_at = it.created_at);
    world.tenants.clear();
    let mut hasher = DefaultHasher::new();
    format!("{world:?}{actors:?}").hash(&mut hasher);
    hasher.finish()
}

impl Search {
    fn visit(&mut self, world: &World, actors: &[Actor], story: &mut Vec<String>) -> Result<(), String> {
        let fingerprint = fingerprint(world, actors);
        if !self.seen.insert(fingerprint) {
            return Ok(());
        }
        let told =
            |problem: String| format!("{problem}\nafter:\n  {}\nworld: {world:#?}", story.join("\n  "));
        check(world).map_err(told)?;
        // Everybody may vanish here: what is left is put in order. From every fourth moment, to save time.
        if fingerprint.is_multiple_of(4) || actors.iter().all(|actor| actor.over) {
            self.rested += 1;
            let rested = come_to_rest(world.clone()).and_then(|rested| check_rested(&rested));
            rested.map_err(|problem| told(format!("at rest: {problem}")))?;
        }
        for number in (0..actors.len()).filter(|number| !actors[*number].over) {
            let (mut world, mut actors) = (world.clone(), actors.to_vec());
            story.push(format!("{:?} step {}", actors[number].kind, actors[number].step));
            actors[number].act(&mut world);
            (self.planted)(&mut world);
            self.visit(&world, &actors, story)?;
            story.pop();
        }
        Ok(())
    }
}

fn explore(kinds: &[Kind]) -> usize {
    let search = search(kinds, |_| {}).unwrap_or_else(|problem| panic!("{problem}"));
    assert!(search.rested * 5 > search.seen.len(), "{} of {}", search.rested, search.seen.len());
    search.seen.len()
}

fn search(kinds: &[Kind], planted: Mistake) -> Result<Search, String> {
    let mut search = Search { seen: HashSet::new(), rested: 0, planted };
    let actors: Vec<Actor> = kinds.iter().copied().map(Actor::new).collect();
    search.visit(&World::begin(), &actors, &mut Vec::new())?;
    Ok(search)
}

const ALL: [Kind; 4] = [
    Kind::Uploader { number: 1, tenant: 1 },
    Kind::Publisher { number: 1, tenant: 1 },
    Kind::Collector { number: 1 },
    Kind::Clock { ticks: 2 },
];

/// A checker that finds nothing is broken: each of these is noticed.
#[test]
fn planted_mistakes_are_found() {
    let mistakes: [(&str, Mistake); 7] = [
        ("references that are not counted", |world| world.blobs.values_mut().for_each(|it| it.refs = 0)),
        ("promises without a barrier", |world| {
            let long_ago = Time::from_seconds(0);
            world.blobs.values_mut().for_each(|it| (it.barrier_until, it.epoch) = (long_ago, -1));
        }),
        ("bytes that go before they are claimed", |world| {
            for blob in world.unreferenced().iter().filter(|blob| blob.unmarked_by.is_some()) {
                world.delete_bytes(blob.id);
            }
        }),
        ("claims before the mark is complete", |world| {
            let Some(running) = world.collector.as_ref().and_then(|it| it.running) else { return };
            for blob in world.blobs.values_mut().filter(|blob| blob.refs == 0) {
                (blob.unmarked_by, blob.claimed_by) = (Some(running), Some(running));
            }
        }),
        ("a claim that is taken back", |world| world.blobs.values_mut().for_each(|it| it.claimed_by = None)),
        ("litter that nobody notes", |world| world.uploads.values_mut().for_each(|it| it.litter = false)),
        ("usage that is not counted", |world| world.usages.values_mut().for_each(|it| it.bytes = 0)),
    ];
    for (name, planted) in mistakes {
        let quitter = Kind::Quitter { number: 2, tenant: 2 };
        let found = search(&ALL, planted).and_then(|_| search(&[ALL[0], quitter], planted));
        assert!(found.is_err(), "not found: {name}");
    }
}

/// The number of worlds is pinned: when it changes, so has what can happen.
#[test]
fn an_upload_a_publication_and_a_collection_in_every_order() {
    assert_eq!(explore(&ALL), 16_235);
}

#[test]
fn the_same_bytes_from_two_tenants_and_a_collection_in_every_order() {
    let worlds = explore(&[
        Kind::Uploader { number: 1, tenant: 1 },
        Kind::Uploader { number: 2, tenant: 2 },
        Kind::Collector { number: 1 },
        Kind::Clock { ticks: 1 },
    ]);
    assert_eq!(worlds, 5_521);
}

/// Bytes among the records meet bytes under a key: whoever comes second finds the first's.
#[test]
fn the_same_bytes_in_one_go_and_step_by_step_and_a_collection_in_every_order() {
    let worlds = explore(&[
        Kind::Putter { number: 1, tenant: 1 },
        Kind::Uploader { number: 2, tenant: 2 },
        Kind::Publisher { number: 1, tenant: 1 },
        Kind::Collector { number: 1 },
        Kind::Clock { ticks: 1 },
    ]);
    assert_eq!(worlds, 20_870);
}

#[test]
fn a_dedupe_a_publication_and_a_collection_in_every_order() {
    let worlds = explore(&[
        Kind::Uploader { number: 1, tenant: 1 },
        Kind::Uploader { number: 2, tenant: 1 },
        Kind::Publisher { number: 1, tenant: 1 },
        Kind::Collector { number: 1 },
        Kind::Clock { ticks: 1 },
    ]);
    assert_eq!(worlds, 41_998);
}

#[test]
fn two_collections_and_one_who_quits_in_every_order() {
    let worlds = explore(&[
        Kind::Uploader { number: 1, tenant: 1 },
        Kind::Quitter { number: 2, tenant: 2 },
        Kind::Collector { number: 1 },
        Kind::Collector { number: 2 },
        Kind::Clock { ticks: 1 },
    ]);
    assert_eq!(worlds, 25_634);
}
