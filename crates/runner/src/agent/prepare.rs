//! What is made ready before a lease is acknowledged: a folder, a log and an order, or the reason why there is none.

use wire::runner::{ArtifactSpec, LeaseGranted};

use crate::agent::settings::{Ground, Settings};
use crate::agent::spec;
use crate::client::Client;
use crate::keeper::Order;
use crate::logs::Spool;
use crate::session::Verdict;
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
}

pub fn prepare<H>(shop: &Shop<H>, granted: &LeaseGranted) -> (Option<Place>, Prepared) {
    let place = match shop.folder.place() {
        Ok(place) => place,
        Err(error) => {
            let order = Err(Verdict::no_workspace(&error.to_string()));
            return (None, Prepared { order, spool: None, artifacts: Vec::new() });
        }
    };
    let mut spool = match Spool::create(&place.log()) {
        Ok(spool) => spool,
        Err(error) => {
            let order = Err(Verdict::no_workspace(&error.to_string()));
            return (Some(place), Prepared { order, spool: None, artifacts: Vec::new() });
        }
    };
    let (order, artifacts) = match spec::order(granted, &shop.settings) {
        Ok((order, artifacts)) => {
            let workspace = match &shop.settings.ground {
                Ground::Fresh | Ground::CopyOf(_) => place.workspace(),
                Ground::InPlace(folder) => folder.clone(),
            };
            (Ok(Order { workspace, scratch: place.scratch(), ..order }), artifacts)
        }
        Err(verdict) => {
            spool.note(&format!("# {}", verdict.summary));
            (Err(verdict), Vec::new())
        }
    };
    (Some(place), Prepared { order, spool: Some(spool), artifacts })
}
