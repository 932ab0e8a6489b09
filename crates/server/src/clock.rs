//! The one place that reads the clock: the machine's uptime, suspend included, carries our time on from an anchor.
//!
//! A wall clock that is set forward or back while we run moves no deadline, and neither does one that was set between two
//! starts: within one boot of the machine our time goes on from the anchor that the store keeps, and the wall clock only
//! names the time at the first start. In another boot nobody knows how long the machine was away. The wall clock is
//! believed then, though not before what is on record; and because it may have jumped forward, leases that lived do not
//! end before one TTL has passed: by then each of their runners has stopped by itself, or renewed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use store::{Anchor, Kept, Timekeeping};
use wire::Time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Our time when the machine's uptime was nothing.
    epoch: Time,
    leases_end_after: Option<Time>,
}

/// What the machine says at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub wall: Time,
    pub uptime: Duration,
    /// Another one after each start of the machine; nothing where it has none.
    pub boot: Option<String>,
}

impl Reading {
    pub fn take() -> Reading {
        Reading { wall: wall(), uptime: uptime(), boot: boot() }
    }
}

impl Clock {
    /// By the wall clock: for what people read, and for what is only measured.
    pub fn start() -> Clock {
        Clock { epoch: wall().minus(uptime()), leases_end_after: None }
    }

    /// On from what a store knows of the time. With an anchor, if there is one to keep in the place of what was found.
    pub fn resume(reading: &Reading, time: &Timekeeping, lease_ttl: Duration) -> (Clock, Option<Anchor>) {
        let kept = match time {
            Timekeeping::Database { now } => {
                return (Clock { epoch: now.minus(reading.uptime), leases_end_after: None }, None);
            }
            Timekeeping::Process(kept) => kept,
        };
        if let Some(Anchor { epoch, leases_end_after, .. }) = anchor_of_this_boot(reading, kept) {
            return (Clock { epoch: *epoch, leases_end_after: *leases_end_after }, None);
        }
        let now = seen(kept, lease_ttl).map_or(reading.wall, |seen| seen.max(reading.wall));
        let leases_end_after = kept.leases_until.map(|_| now.plus(lease_ttl));
        let epoch = now.minus(reading.uptime);
        let anchor = reading.boot.clone().map(|boot| Anchor { boot, epoch, leases_end_after });
        (Clock { epoch, leases_end_after }, anchor)
    }

    pub fn now(&self) -> Time {
        self.at(uptime())
    }

    /// Our time when the machine was up for so long.
    pub fn at(&self, uptime: Duration) -> Time {
        self.epoch.plus(uptime)
    }

    /// Until when leases that are over by this clock may have runners at work, if nobody knows better.
    pub fn leases_end_after(&self) -> Option<Time> {
        self.leases_end_after
    }

    /// Whether ticks may end leases at this moment.
    pub fn leases_may_end(&self, now: Time) -> bool {
        self.leases_end_after.is_none_or(|after| now >= after)
    }
}

/// An uptime by which we were earlier than what is on record is not the anchor's: it is that of a time namespace, or of a
/// machine that was put back to an earlier state.
fn anchor_of_this_boot<'k>(reading: &Reading, kept: &'k Kept) -> Option<&'k Anchor> {
    let anchor = kept.anchor.as_ref().filter(|anchor| reading.boot.as_ref() == Some(&anchor.boot))?;
    let goes_on = kept.latest.is_none_or(|latest| latest <= anchor.epoch.plus(reading.uptime));
    goes_on.then_some(anchor)
}

/// The latest moment on record: of an event, or of a renewal, which leaves none.
fn seen(kept: &Kept, lease_ttl: Duration) -> Option<Time> {
    let renewed = kept.leases_until.map(|until| until.minus(lease_ttl));
    kept.latest.max(renewed)
}

fn wall() -> Time {
    Time::from_micros(0).plus(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Asked of the kernel itself, as the runner does: leases mean the same on both sides.
fn uptime() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

fn boot() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned()).filter(|boot| !boot.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const TTL: Duration = Duration::from_secs(120);
    const NOON: Time = Time::from_seconds(1_800_000_000);

    fn reading(boot: &str, wall: Time, uptime: Duration) -> Reading {
        Reading { wall, uptime, boot: Some(boot.into()) }
    }

    /// What is left by a server that ran from noon to one, in a machine that was started an hour before noon, with a lease.
    fn left() -> Kept {
        let anchor = Anchor { boot: "first".into(), epoch: NOON.minus(HOUR), leases_end_after: None };
        let one = NOON.plus(HOUR);
        Kept { anchor: Some(anchor), latest: Some(one), leases_until: Some(one.plus(TTL)) }
    }

    fn resumed(reading: &Reading, kept: Kept) -> (Clock, Option<Anchor>) {
        Clock::resume(reading, &Timekeeping::Process(kept), TTL)
    }

    #[test]
    fn the_first_start_takes_the_wall_clock_and_keeps_it() {
        let (clock, anchor) = resumed(&reading("first", NOON, HOUR), Kept::default());
        assert_eq!((clock.at(HOUR), clock.at(HOUR * 2)), (NOON, NOON.plus(HOUR)));
        assert!(clock.leases_may_end(NOON));
        let expected = Anchor { boot: "first".into(), epoch: NOON.minus(HOUR), leases_end_after: None };
        assert_eq!(anchor, Some(expected));
    }

    #[test]
    fn in_the_same_boot_time_goes_on_wherever_the_wall_clock_was_put() {
        for wall in [NOON.plus(HOUR), NOON.plus(HOUR * 10), NOON.minus(HOUR * 10), Time::from_micros(0)] {
            let (clock, anchor) = resumed(&reading("first", wall, HOUR * 3), left());
            assert_eq!(clock.at(HOUR * 3), NOON.plus(HOUR * 2));
            assert!(clock.leases_may_end(NOON));
            assert_eq!(anchor, None, "nothing is to be kept anew");
        }
    }

    #[test]
    fn in_another_boot_the_wall_clock_is_believed_and_leases_get_their_ttl() {
        let (back, uptime) = (NOON.plus(HOUR * 5), Duration::from_secs(9));
        let (clock, anchor) = resumed(&reading("second", back, uptime), left());
        assert_eq!(clock.at(uptime), back);
        assert!(!clock.leases_may_end(back.plus(TTL).minus(Duration::from_micros(1))));
        assert!(clock.leases_may_end(back.plus(TTL)));
        let anchor = anchor.expect("one of this boot");
        assert_eq!((anchor.boot.as_str(), anchor.leases_end_after), ("second", Some(back.plus(TTL))));

        // Killed and started again before that, it waits no shorter and no longer.
        let later = reading("second", Time::from_micros(0), uptime * 2);
        let (again, nothing) = resumed(&later, Kept { anchor: Some(anchor), ..left() });
        assert_eq!((again, nothing), (clock, None));
    }

    #[test]
    fn in_another_boot_without_leases_nothing_waits() {
        let (clock, _) =
            resumed(&reading("second", NOON.plus(HOUR * 5), TTL), Kept { leases_until: None, ..left() });
        assert_eq!(clock.leases_end_after(), None);
    }

    #[test]
    fn a_wall_clock_before_what_is_on_record_is_not_believed() {
        let earlier = reading("second", NOON.minus(HOUR * 20), TTL);
        assert_eq!(resumed(&earlier, left()).0.at(TTL), NOON.plus(HOUR));
        // A renewal leaves no event: two hours of them, and nothing else.
        let renewed = Kept { leases_until: Some(NOON.plus(HOUR * 3).plus(TTL)), ..left() };
        assert_eq!(resumed(&earlier, renewed).0.at(TTL), NOON.plus(HOUR * 3));
    }

    #[test]
    fn a_machine_without_a_name_for_its_boot_keeps_nothing() {
        let nameless = Reading { boot: None, ..reading("", NOON.plus(HOUR * 2), HOUR * 3) };
        let (clock, anchor) = resumed(&nameless, left());
        assert_eq!((clock.at(HOUR * 3), anchor), (NOON.plus(HOUR * 2), None));
        assert!(!clock.leases_may_end(NOON.plus(HOUR * 2)));
    }

    #[test]
    fn an_uptime_that_went_back_is_another_ones() {
        let (wall, uptime) = (NOON.plus(HOUR * 2), Duration::from_secs(60));
        let (clock, anchor) = resumed(&reading("first", wall, uptime), left());
        assert_eq!(clock.at(uptime), wall);
        assert!(anchor.is_some() && clock.leases_end_after().is_some());
    }

    #[test]
    fn a_shorter_ttl_than_before_is_no_other_boot() {
        let time = Timekeeping::Process(left());
        let (clock, anchor) = Clock::resume(&reading("first", NOON, HOUR * 2), &time, Duration::from_secs(1));
        assert_eq!((clock.at(HOUR * 2), anchor), (NOON.plus(HOUR), None));
    }

    #[test]
    fn the_time_of_a_database_is_its_servers_time() {
        let time = Timekeeping::Database { now: NOON };
        let (clock, anchor) = Clock::resume(&reading("first", NOON.plus(HOUR), HOUR), &time, TTL);
        assert_eq!((clock.at(HOUR), clock.leases_end_after(), anchor), (NOON, None, None));
    }

    #[test]
    fn the_machine_says_all_of_it() {
        let reading = Reading::take();
        assert!(reading.wall > NOON.minus(HOUR * 24 * 365 * 2) && reading.uptime > Duration::ZERO);
        assert!(reading.boot.is_some_and(|boot| boot.len() > 8));
        let clock = Clock::start();
        assert!(clock.now() <= clock.now());
    }
}
