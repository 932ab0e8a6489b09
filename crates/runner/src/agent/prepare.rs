//! What is made ready before a lease is acknowledged: a folder, a log and an order, or the reason why there is none.

use std::io;

use wire::runner::{ArtifactSpec, CacheSpec, LeaseGranted};

use crate::agent::settings::{Ground, Settings};
use crate::agent::spec::{self, Task};
use crate::caches::Fetcher;
use crate::client::Client;
use crate::keeper::Order;
use crate::logs::Spool;
use crate::session::{End, Outcome, Verdict};
use crate::transfer::Uploads;
use crate::workspace::{Folder, Place};

/// What every slot shares.
pub struct Shop<H> {
    pub client: Client,
    pub settings: Settings,
    pub folder: Folder,
    pub hire: H,
}

pub struct Prepared {
    pub order: Result<Order, Verdict>,
    pub spool: Option<Spool>,
    pub artifacts: Vec<ArtifactSpec>,
    /// If the job names any.
    pub caches: Option<Fetcher>,
}

impl Prepared {
    fn refused(verdict: Verdict, spool: Option<Spool>) -> Prepared {
        Prepared { order: Err(verdict), spool, artifacts: Vec::new(), caches: None }
    }
}

pub fn prepare<H>(shop: &Shop<H>, granted: &LeaseGranted) -> (Option<Place>, Prepared) {
    let place = match &shop.settings.ground {
        Ground::CopyOf(_) => shop.folder.used_place(),
        Ground::Fresh | Ground::InPlace(_) => shop.folder.place(),
    };
    let place = match place {
        Ok(place) => place,
        Err(error) => {
            return (None, Prepared::refused(Verdict::no_workspace(&error.to_string()), None));
        }
    };
    let mut spool = match Spool::create(&place.log()) {
        Ok(spool) => spool,
        Err(error) => {
            return (Some(place), Prepared::refused(Verdict::no_workspace(&error.to_string()), None));
        }
    };
    let prepared = match spec::task(granted, &shop.settings) {
        Ok(Task { order, artifacts, caches }) => {
            let workspace = match &shop.settings.ground {
                Ground::Fresh | Ground::CopyOf(_) => place.workspace(),
                Ground::InPlace(folder) => folder.clone(),
            };
            Prepared {
                order: Ok(Order { workspace, scratch: place.scratch(), ..order }),
                spool: Some(spool),
                artifacts,
                caches: (!caches.is_empty()).then(|| fetcher(shop, granted, &place, caches)),
            }
        }
        Err(verdict) => {
            spool.note(&format!("# {}", verdict.summary));
            Prepared::refused(verdict, Some(spool))
        }
    };
    (Some(place), prepared)
}

/// The folder of an execution that is over serves the next copy, if it ended as it should, and so left no process.
pub fn clean_up<H>(shop: &Shop<H>, place: Place, end: &End) -> io::Result<()> {
    match (&shop.settings.ground, end) {
        (Ground::CopyOf(_), End::Completed(verdict)) if verdict.outcome == Outcome::Succeeded => {
            shop.folder.hand_on(place)
        }
        _ => place.remove(),
    }
}

fn fetcher<H>(shop: &Shop<H>, granted: &LeaseGranted, place: &Place, specs: Vec<CacheSpec>) -> Fetcher {
    let uploads = granted
        .tenant_id
        .and_then(|tenant| Uploads::new(shop.client.clone(), &tenant.to_string()).under(&granted.lease_id));
    Fetcher {
        client: shop.client.clone(),
        base: uploads.map(|uploads| uploads.address()),
        specs,
        folder: place.caches(),
        bytes_max: shop.settings.artifacts_bytes_max,
    }
}
