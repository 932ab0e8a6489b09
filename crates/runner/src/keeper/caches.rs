//! The keeper's part in caches: unpacks what was found after the checkout, packs what a job that succeeded leaves. Only
//! the keeper knows when either is due, and where the job's home is. Neither ever fails a job.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::link::Reports;
use super::order::{CacheOrder, ExecutorKind, Order, Report};
use super::places::Places;
use crate::artifacts::Notes;
use crate::caches::{Grounds, Spot, Trouble, pack, size, unpack};

/// For one archive: a cache that takes longer spares nothing.
const TIME_MAX: Duration = Duration::from_secs(15 * 60);

/// Stops work on another thread when whoever waits for it is gone.
struct Alive(Arc<AtomicBool>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

pub async fn restore(order: &Order, places: &Places, executor: ExecutorKind, reports: &Reports) {
    let grounds = grounds(order, places, executor);
    for cache in &order.caches {
        let spots = spots(cache, &grounds, executor, reports).await;
        let Some(archive) = cache.archive.clone().filter(|_| !spots.is_empty()) else { continue };
        let (grounds, bytes_max) = (grounds.clone(), order.cache_bytes_max);
        let unpacked = elsewhere(move |notes, go_on| {
            unpack(File::open(archive)?, &spots, &grounds, bytes_max, notes, go_on)
        });
        let (unpacked, lines) = unpacked.await;
        tell(cache, reports, lines).await;
        if let Err(problem) = unpacked {
            let line = format!("cannot be restored whole: {problem}; the job goes on with what is there");
            tell(cache, reports, vec![line]).await;
        }
    }
}

/// Of a job that succeeded, once no process of it is left.
pub async fn save(order: &Order, places: &Places, executor: ExecutorKind, reports: &Reports) {
    let grounds = grounds(order, places, executor);
    for cache in &order.caches {
        let Some(archive) = cache.save_to.clone() else { continue };
        let spots: Vec<Spot> = cache.paths.iter().filter_map(|path| Spot::parse(path).ok()).collect();
        let (grounds, bytes_max) = (grounds.clone(), order.cache_bytes_max);
        let packed = elsewhere(move |notes, go_on| pack(&archive, &spots, &grounds, bytes_max, notes, go_on));
        let (packed, lines) = packed.await;
        tell(cache, reports, lines).await;
        let line = match packed {
            Ok(Some(amount)) => format!("packed {} in {} files", size(amount.bytes), amount.files),
            Ok(None) => "nothing to save: none of its paths is there".into(),
            Err(problem) => format!("not saved: {problem}"),
        };
        tell(cache, reports, vec![line]).await;
    }
}

/// A home in a container, or one that the job chose itself, cannot be reached from here.
fn grounds(order: &Order, places: &Places, executor: ExecutorKind) -> Grounds {
    let within_reach = match executor {
        ExecutorKind::Process | ExecutorKind::Sandbox => !order.env.contains_key("HOME"),
        ExecutorKind::Docker => false,
    };
    Grounds { workspace: places.workspace.clone(), home: within_reach.then(|| places.home.clone()) }
}

/// The paths that can be used; of the others the log says why not.
async fn spots(
    cache: &CacheOrder,
    grounds: &Grounds,
    executor: ExecutorKind,
    reports: &Reports,
) -> Vec<Spot> {
    let mut spots = Vec::new();
    for path in &cache.paths {
        let problem = match Spot::parse(path) {
            Ok(spot) if grounds.folder(spot.ground).is_some() => {
                spots.push(spot);
                continue;
            }
            Ok(_) if executor == ExecutorKind::Docker => {
                "of a job in a container only paths in the workspace are kept".into()
            }
            Ok(_) => "the job sets HOME itself".into(),
            Err(problem) => problem,
        };
        tell(cache, reports, vec![format!("`{}` is left out: {problem}", path.escape_debug())]).await;
    }
    spots
}

async fn tell(cache: &CacheOrder, reports: &Reports, lines: Vec<String>) {
    for line in lines {
        reports.send(Report::Note { line: format!("cache {}: {line}", cache.name) }).await;
    }
}

/// Work with files, on a thread of its own and within a bound of time; and what it noted.
async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce(&mut Notes, &dyn Fn() -> bool) -> Result<T, Trouble> + Send + 'static,
) -> (Result<T, String>, Vec<String>) {
    let alive = Alive(Arc::new(AtomicBool::new(true)));
    let flag = alive.0.clone();
    let working = tokio::task::spawn_blocking(move || {
        let mut notes = Notes::default();
        let result = work(&mut notes, &|| flag.load(Ordering::Relaxed));
        (result.map_err(|trouble| trouble.to_string()), notes.lines())
    });
    match tokio::time::timeout(TIME_MAX, working).await {
        Ok(Ok(done)) => done,
        Ok(Err(error)) => (Err(format!("a mistake of ours, please report it: {error}")), Vec::new()),
        Err(_) => (Err("it took too long".into()), Vec::new()),
    }
}
