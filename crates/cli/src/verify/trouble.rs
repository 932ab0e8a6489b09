//! The trouble: kills, freezes, cuts, bad weather on the wires, restarts, wall clocks that are set and a full disk, thrown by
//! dice.
//!
//! Never: a process, a file or a link that is not the site's own; more than half of the runners away at a time.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use rustix::process::Signal;

use super::Stop;
use super::dice::Dice;
use super::record::{Fault, Happened};
use super::site::Site;
use super::wires::Weather;

/// How much of everything.
pub struct Amount {
    pub kills: Option<u64>,
    pub time: Option<Duration>,
    pub fill_disk: bool,
    /// Before so many kills everything is of the older version.
    pub upgrade_after: u64,
}

/// Something that is mended when its time has come.
struct Mend {
    at: i64,
    what: Mended,
}

enum Mended {
    Server(usize),
    Runner(usize),
    Wire(usize),
    Calm(usize),
}

const LOOK_EVERY: Duration = Duration::from_millis(20);
const PAUSE_MS: (u64, u64) = (150, 700);
/// Small files, so that the last of them takes what is left.
const BALLAST_BYTES: usize = 64 * 1024;
const BALLAST_COUNT_MAX: usize = 4_096;
/// A minute, an hour, a day; so many of them at most.
const WALL_UNITS: [i64; 3] = [60, 3_600, 86_400];
const WALL_COUNT_MAX: usize = 50;

pub struct Trouble<'a> {
    pub site: &'a mut Site,
    pub dice: Dice,
    pub amount: Amount,
    pub stop: &'a Stop,
    pub kills: u64,
    /// Processes that ended though nobody ended them.
    pub unexpected: Vec<String>,
    mends: Vec<Mend>,
}

impl<'a> Trouble<'a> {
    pub fn new(site: &'a mut Site, dice: Dice, amount: Amount, stop: &'a Stop) -> Trouble<'a> {
        Trouble { site, dice, amount, stop, kills: 0, unexpected: Vec::new(), mends: Vec::new() }
    }

    /// Until there was enough of it; then everything is mended.
    pub fn make(&mut self, mut seen: impl FnMut(u64, Duration)) -> Result<()> {
        let began = self.site.scribe.now();
        let mut upgraded = false;
        loop {
            let past = Duration::from_micros((self.site.scribe.now() - began).unsigned_abs());
            seen(self.kills, past);
            let enough = self.amount.kills.is_none_or(|kills| self.kills >= kills)
                && self.amount.time.is_none_or(|time| past >= time);
            if enough || self.stop.is_asked() {
                break;
            }
            if !upgraded && self.kills >= self.amount.upgrade_after {
                self.site.upgrade()?;
                upgraded = true;
            }
            self.throw()?;
            self.rest()?;
        }
        self.mends.clear();
        self.site.mend()
    }

    fn throw(&mut self) -> Result<()> {
        let faces = if self.site.post.walls.is_empty() { 20 } else { 23 };
        match self.dice.below(faces) {
            0..6 => self.kill_server(),
            6..12 => self.kill_runner(),
            12..14 => self.freeze_runner(),
            14 => self.freeze_server(),
            15..17 => self.cut(),
            18 | 19 if self.amount.fill_disk => self.fill_disk(),
            17 | 18 => self.storm(),
            20.. => self.set_clock(),
            _ => self.stop_server(),
        }
    }

    /// A pause, in which what is due is mended.
    fn rest(&mut self) -> Result<()> {
        let pause = self.dice.pause(PAUSE_MS.0, PAUSE_MS.1);
        let until = self.after(pause);
        while self.site.scribe.now() < until && !self.stop.is_asked() {
            self.mend_due()?;
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn after(&self, time: Duration) -> i64 {
        self.site.scribe.now() + time.as_micros() as i64
    }

    fn note(&self, what: Fault, whom: &str) {
        self.site.scribe.saw(Happened::Fault { what, whom: whom.into() });
    }

    fn kill_server(&mut self) -> Result<()> {
        let place = self.dice.below(self.site.servers.len());
        let server = &mut self.site.servers[place];
        self.unexpected.extend(server.process.ended_by_itself(&server.name));
        server.kill(&self.site.addresses)?;
        let name = server.name.clone();
        self.note(Fault::KillServer, &name);
        self.kills += 1;
        self.forget(|mended| matches!(mended, Mended::Server(frozen) if *frozen == place));
        if self.dice.percent(30) {
            thread::sleep(self.dice.pause(50, 600));
        }
        self.start_again(place)
    }

    fn kill_runner(&mut self) -> Result<()> {
        let place = self.dice.below(self.site.runners.len());
        let (runner, post) = (&mut self.site.runners[place], &self.site.post);
        let name = runner.name.clone();
        self.unexpected.extend(runner.process.ended_by_itself(&name));
        // Noted before: nobody can see the death earlier.
        self.site.scribe.saw(Happened::Fault { what: Fault::KillRunner, whom: name });
        runner.replace(post)?;
        self.kills += 1;
        self.forget(|mended| matches!(mended, Mended::Runner(frozen) if *frozen == place));
        Ok(())
    }

    fn stop_server(&mut self) -> Result<()> {
        let place = self.dice.below(self.site.servers.len());
        if self.site.servers[place].frozen {
            return Ok(());
        }
        let name = self.site.servers[place].name.clone();
        self.note(Fault::StopServer, &name);
        self.site.servers[place].stop(&self.site.addresses)?;
        self.start_again(place)
    }

    /// By another wall clock than before, often enough.
    fn start_again(&mut self, place: usize) -> Result<()> {
        if !self.site.post.walls.is_empty() && self.dice.percent(50) {
            self.set_wall(place, Fault::SetClockBetween)?;
        }
        self.site.restart_server(place)
    }

    fn set_clock(&mut self) -> Result<()> {
        let place = self.dice.below(self.site.servers.len());
        self.set_wall(place, Fault::SetClock)
    }

    /// By minutes, hours or days, ahead or behind; it stays so until it is set again.
    fn set_wall(&mut self, place: usize, fault: Fault) -> Result<()> {
        let (unit, count) = (self.dice.below(WALL_UNITS.len()), 1 + self.dice.below(WALL_COUNT_MAX));
        let seconds = WALL_UNITS[unit] * count as i64;
        self.site.post.walls[place].set(if self.dice.percent(50) { seconds } else { -seconds })?;
        let name = self.site.servers[place].name.clone();
        self.note(fault, &name);
        Ok(())
    }

    fn freeze_runner(&mut self) -> Result<()> {
        let Some(place) = self.one_that_is_well() else { return Ok(()) };
        let runner = &mut self.site.runners[place];
        runner.process.signal(Signal::STOP)?;
        runner.frozen = true;
        let name = runner.name.clone();
        self.note(Fault::FreezeRunner, &name);
        let away = self.longer_than_the_lease();
        self.mends.push(Mend { at: self.after(away), what: Mended::Runner(place) });
        Ok(())
    }

    fn freeze_server(&mut self) -> Result<()> {
        let place = self.dice.below(self.site.servers.len());
        if self.site.servers[place].frozen {
            return Ok(());
        }
        self.site.servers[place].process.signal(Signal::STOP)?;
        self.site.servers[place].frozen = true;
        let name = self.site.servers[place].name.clone();
        self.note(Fault::FreezeServer, &name);
        let ttl = self.site.post.settings.lease_ttl_ms;
        let away = self.dice.pause(ttl / 4, ttl + ttl / 4);
        self.mends.push(Mend { at: self.after(away), what: Mended::Server(place) });
        Ok(())
    }

    fn cut(&mut self) -> Result<()> {
        let Some(place) = self.one_that_is_well() else { return Ok(()) };
        self.site.runners[place].set_cut(true)?;
        let name = self.site.runners[place].name.clone();
        self.note(Fault::Cut, &name);
        let short = self.dice.percent(40);
        let away = if short { self.dice.pause(300, 1_500) } else { self.longer_than_the_lease() };
        self.mends.push(Mend { at: self.after(away), what: Mended::Wire(place) });
        Ok(())
    }

    fn storm(&mut self) -> Result<()> {
        let place = self.dice.below(self.site.runners.len());
        if self.site.runners[place].stormy {
            return Ok(());
        }
        let weather = Weather {
            delayed: 10 + self.dice.below(20) as u64,
            doubled: 15 + self.dice.below(30) as u64,
            request_lost: self.dice.below(25) as u64,
            answer_lost: self.dice.below(30) as u64,
        };
        self.site.runners[place].proxy.set_weather(weather);
        self.site.runners[place].stormy = true;
        let length = self.dice.pause(500, 3_000);
        self.mends.push(Mend { at: self.after(length), what: Mended::Calm(place) });
        Ok(())
    }

    /// Nothing more fits for a moment. The server is killed in it: what it could not write, it was never told of.
    fn fill_disk(&mut self) -> Result<()> {
        if self.site.servers[0].frozen {
            return Ok(());
        }
        self.note(Fault::FillDisk, "disk");
        let ballast = fill(&self.site.post.data.join("ballast"));
        thread::sleep(self.dice.pause(200, 900));
        let kill = self.dice.percent(50);
        if kill {
            self.site.servers[0].kill(&self.site.addresses)?;
            self.note(Fault::KillServer, "server-1");
            self.kills += 1;
        }
        ballast?.iter().try_for_each(fs::remove_file)?;
        if !kill {
            self.site.servers[0].stop(&self.site.addresses)?;
        }
        self.site.restart_server(0)
    }

    fn longer_than_the_lease(&mut self) -> Duration {
        let ttl = self.site.post.settings.lease_ttl_ms;
        self.dice.pause(ttl + 300, ttl + 1_500)
    }

    /// Half of the runners at least go on.
    fn one_that_is_well(&mut self) -> Option<usize> {
        let runners = &self.site.runners;
        let well: Vec<usize> =
            (0..runners.len()).filter(|place| !runners[*place].frozen && !runners[*place].cut).collect();
        if well.len() * 2 <= runners.len() { None } else { self.dice.pick(&well).copied() }
    }

    fn forget(&mut self, is_this: impl Fn(&Mended) -> bool) {
        self.mends.retain(|mend| !is_this(&mend.what));
    }

    fn mend_due(&mut self) -> Result<()> {
        let now = self.site.scribe.now();
        let (due, later) = std::mem::take(&mut self.mends).into_iter().partition(|mend| mend.at <= now);
        self.mends = later;
        let due: Vec<Mend> = due;
        for Mend { what, .. } in due {
            match what {
                Mended::Server(place) => {
                    self.site.servers[place].process.signal(Signal::CONT)?;
                    self.site.servers[place].frozen = false;
                }
                Mended::Runner(place) => {
                    self.site.runners[place].process.signal(Signal::CONT)?;
                    self.site.runners[place].frozen = false;
                }
                Mended::Wire(place) => self.site.runners[place].set_cut(false)?,
                Mended::Calm(place) => {
                    self.site.runners[place].proxy.set_weather(Weather::default());
                    self.site.runners[place].stormy = false;
                }
            }
        }
        Ok(())
    }
}

/// Until nothing more fits. Returns what is to be removed.
fn fill(at: &std::path::Path) -> Result<Vec<PathBuf>> {
    let path = at.with_extension("bytes");
    let mut file = File::create(&path)?;
    let full = (0..BALLAST_COUNT_MAX).any(|_| file.write_all(&[0; BALLAST_BYTES]).is_err());
    anyhow::ensure!(full, "the disk that was to be filled is too large");
    Ok(vec![path])
}
