//! The subscriber that asked for it is told in the order of the commits.

use std::collections::{BTreeMap, BTreeSet};

use super::Broken;
use crate::verify::record::{Happened, Record};
use crate::verify::site::LANES;

const ORDER: &str = "an ordered subscriber is told in the order of what happened";

pub fn check(record: &Record) -> Vec<Broken> {
    let lanes = LANES.iter().filter(|(_, ordered)| *ordered);
    lanes.flat_map(|(lane, _)| one(record, lane)).collect()
}

fn one(record: &Record, lane: &str) -> Vec<Broken> {
    let ours = record.settled.messages.iter().filter(|message| message.lane == lane);
    let places: BTreeMap<&str, usize> =
        ours.enumerate().map(|(place, message)| (message.id.as_str(), place)).collect();
    let (mut found, mut seen, mut last) = (Vec::new(), BTreeSet::new(), 0);
    for moment in &record.moments {
        let Happened::Told { lane: to, message, .. } = &moment.what else { continue };
        let Some(place) = places.get(message.as_str()).filter(|_| to == lane) else { continue };
        // Again is allowed; what matters is when it came first.
        if seen.insert(message) {
            if *place < last {
                found.push((ORDER, format!("{message} came after a later one")));
            }
            last = last.max(*place);
        }
    }
    found
}
