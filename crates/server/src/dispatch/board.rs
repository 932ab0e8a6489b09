//! The board: which queues may have work, and who waits for some. Pure: it is told what happened and says whom to wake.
//!
//! A queue on the board *may* have work; only a lease finds out. A runner that comes back empty-handed takes the queue
//! off, unless word of new work came meanwhile. Tenants are served in turn, so that a thousand jobs of one do not stand
//! before the first of another.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use decisions::records::{Queue, QueueId};
use wire::TenantId;

/// What a runner may take: whose jobs, and which capabilities it has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// `None`: jobs of all tenants.
    pub scope: Option<TenantId>,
    pub capabilities: BTreeSet<String>,
}

impl Shape {
    fn takes(&self, queue: &Queue) -> bool {
        self.scope.is_none_or(|tenant| tenant == queue.tenant)
            && queue.fits(|it| self.capabilities.contains(it))
    }
}

/// The queues of one tenant that are worth a try, as the board knew them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    pub queues: Vec<QueueId>,
    /// How much had been heard when it was picked.
    heard: u64,
}

/// A place in the line; the lowest is the longest waiting.
pub type Place = u64;

/// Counts the times that any tenant was served.
type Turn = u64;

/// `W` is how the shell wakes a waiter.
#[derive(Debug)]
pub struct Board<W> {
    queues: HashMap<QueueId, Queue>,
    /// Queues that may have work, with what had been heard when each came on last.
    ready: BTreeMap<TenantId, BTreeMap<QueueId, u64>>,
    waiting: BTreeMap<Arc<Shape>, BTreeMap<Place, W>>,
    /// The turn in which each tenant was served last; a tenant that never was has the lowest.
    served: HashMap<TenantId, Turn>,
    /// The tenants of `ready` in the order of their turns. One order for all shapes of runners, and a number for each
    /// tenant: a single mark of who was last would be moved past a tenant by a runner that cannot serve it.
    turns: BTreeSet<(Turn, TenantId)>,
    turn: Turn,
    heard: u64,
    places: Place,
}

/// Queues are as many as there are sets of requirements, which a run may make up for itself: beyond this, those that
/// have nothing to give are forgotten, and asked for when something comes.
const QUEUES_KEPT: usize = 10_000;

/// Each grant wakes so many more: a burst is handed out in a few rounds, and one job does not wake a thousand.
const WOKEN_BY_GRANT: usize = 2;

impl<W> Default for Board<W> {
    fn default() -> Board<W> {
        Board {
            queues: HashMap::new(),
            ready: BTreeMap::new(),
            waiting: BTreeMap::new(),
            served: HashMap::new(),
            turns: BTreeSet::new(),
            turn: 0,
            heard: 0,
            places: 0,
        }
    }
}

impl<W> Board<W> {
    pub fn learn(&mut self, queues: impl IntoIterator<Item = Queue>) {
        if self.queues.len() >= QUEUES_KEPT {
            let ready: BTreeSet<QueueId> = self.ready.values().flat_map(BTreeMap::keys).copied().collect();
            self.queues.retain(|id, _| ready.contains(id));
        }
        self.queues.extend(queues.into_iter().map(|queue| (queue.id, queue)));
    }

    pub fn unknown(&self, queues: &[QueueId]) -> Vec<QueueId> {
        queues.iter().filter(|queue| !self.queues.contains_key(queue)).copied().collect()
    }

    /// A queue may have work: returns the waiter to wake. A queue that is not known is not served.
    pub fn may_have_work(&mut self, id: QueueId) -> Option<W> {
        let queue = self.queues.get(&id)?;
        self.heard += 1;
        self.ready.entry(queue.tenant).or_default().insert(id, self.heard);
        self.turns.insert((self.served.get(&queue.tenant).copied().unwrap_or_default(), queue.tenant));
        take_first(&mut self.waiting, |shape| shape.takes(queue))
    }

    /// What a runner of this shape should try: the tenant that has waited longest for its turn.
    pub fn pick(&mut self, shape: &Shape) -> Option<Pick> {
        let fitting = |tenant: &TenantId| -> Vec<QueueId> {
            let fits = |id: &&QueueId| self.queues.get(*id).is_some_and(|queue| shape.takes(queue));
            self.ready
                .get(tenant)
                .map(|queues| queues.keys().filter(fits).copied().collect())
                .unwrap_or_default()
        };
        let mut tried = self.turns.iter().map(|(turn, tenant)| (*turn, *tenant, fitting(tenant)));
        let (turn, tenant, queues) = tried.find(|(_, _, queues)| !queues.is_empty())?;
        self.turn += 1;
        self.served.insert(tenant, self.turn);
        self.turns.remove(&(turn, tenant));
        self.turns.insert((self.turn, tenant));
        Some(Pick { queues, heard: self.heard })
    }

    /// There was nothing: off the board, unless more was heard since.
    pub fn came_back_empty(&mut self, pick: &Pick) {
        for id in &pick.queues {
            let Some(tenant) = self.queues.get(id).map(|queue| queue.tenant) else { continue };
            let Some(queues) = self.ready.get_mut(&tenant) else { continue };
            if queues.get(id).is_some_and(|heard| *heard <= pick.heard) {
                queues.remove(id);
            }
            if queues.is_empty() {
                self.ready.remove(&tenant);
                self.turns.remove(&(self.served.get(&tenant).copied().unwrap_or_default(), tenant));
            }
        }
    }

    /// There was something, and there may be more: those to wake.
    pub fn came_back_with_work(&mut self) -> Vec<W> {
        (0..WOKEN_BY_GRANT).map_while(|_| self.wake_for_any()).collect()
    }

    fn wake_for_any(&mut self) -> Option<W> {
        let (ready, queues) = (&self.ready, &self.queues);
        let fits = |shape: &Shape| {
            let ids = ready.values().flat_map(BTreeMap::keys);
            ids.filter_map(|id| queues.get(id)).any(|queue| shape.takes(queue))
        };
        take_first(&mut self.waiting, fits)
    }

    /// Joins the line.
    pub fn wait(&mut self, shape: &Arc<Shape>, wake: W) -> Place {
        self.places += 1;
        self.waiting.entry(shape.clone()).or_default().insert(self.places, wake);
        self.places
    }

    /// Leaves the line. If it was not there any more, it had been woken and does not go: somebody else to wake for it.
    pub fn leave(&mut self, shape: &Shape, place: Place) -> Option<W> {
        if let Some(line) = self.waiting.get_mut(shape)
            && line.remove(&place).is_some()
        {
            if line.is_empty() {
                self.waiting.remove(shape);
            }
            return None;
        }
        self.wake_for_any()
    }
}

/// The longest waiting of all lines whose shape fits.
fn take_first<W>(
    waiting: &mut BTreeMap<Arc<Shape>, BTreeMap<Place, W>>,
    fits: impl Fn(&Shape) -> bool,
) -> Option<W> {
    let lines = waiting.iter().filter(|(shape, _)| fits(shape));
    let (_, shape) = lines.filter_map(|(shape, line)| Some((*line.keys().next()?, shape.clone()))).min()?;
    let line = waiting.get_mut(&shape)?;
    let (_, wake) = line.pop_first()?;
    if line.is_empty() {
        waiting.remove(&shape);
    }
    Some(wake)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(number: u128) -> TenantId {
        TenantId::from_u128(number)
    }

    fn queue(of: u128, requires: &[&str]) -> Queue {
        let requires: Vec<String> = requires.iter().map(|it| (*it).into()).collect();
        Queue::for_requirements(tenant(of), &requires)
    }

    fn shape(scope: Option<u128>, capabilities: &[&str]) -> Arc<Shape> {
        let capabilities = capabilities.iter().map(|it| (*it).into()).collect();
        Arc::new(Shape { scope: scope.map(tenant), capabilities })
    }

    fn board(queues: &[&Queue]) -> Board<&'static str> {
        let mut board = Board::default();
        board.learn(queues.iter().map(|queue| (*queue).clone()));
        board
    }

    #[test]
    fn work_wakes_the_longest_waiting_runner_that_can_take_it() {
        let linux = queue(1, &["os:linux"]);
        let mut board = board(&[&linux]);
        board.wait(&shape(None, &["os:mac"]), "mac");
        board.wait(&shape(None, &["os:linux", "arch:x86"]), "first");
        board.wait(&shape(Some(1), &["os:linux"]), "second");
        board.wait(&shape(Some(2), &["os:linux"]), "of somebody else");
        assert_eq!(board.may_have_work(linux.id), Some("first"));
        assert_eq!(board.may_have_work(linux.id), Some("second"));
        assert_eq!(board.may_have_work(linux.id), None);
        assert_eq!(board.waiting.len(), 2);
    }

    #[test]
    fn tenants_take_turns() {
        let queues = [queue(1, &[]), queue(2, &[]), queue(3, &[])];
        let mut board = board(&queues.each_ref());
        for queue in &queues {
            assert_eq!(board.may_have_work(queue.id), None, "nobody waits");
        }
        let any = shape(None, &[]);
        let served: Vec<_> = (0..6).map(|_| board.pick(&any).unwrap().queues[0]).collect();
        let ids = queues.each_ref().map(|queue| queue.id);
        assert_eq!(served, [ids, ids].concat());
    }

    /// A runner that serves one of them only must not take the turn of another.
    #[test]
    fn a_tenant_is_not_starved_by_a_runner_of_its_neighbour() {
        let queues = [queue(1, &[]), queue(2, &[]), queue(3, &[])];
        let mut board = board(&queues.each_ref());
        for queue in &queues {
            board.may_have_work(queue.id);
        }
        let (any, of_second) = (shape(None, &[]), shape(Some(2), &[]));
        let mut served_by_all = Vec::new();
        for _ in 0..3 {
            assert_eq!(board.pick(&of_second).unwrap().queues, [queues[1].id]);
            served_by_all.push(board.pick(&any).unwrap().queues[0]);
        }
        let [first, _, third] = queues.each_ref().map(|queue| queue.id);
        assert_eq!(served_by_all, [first, third, first]);
    }

    #[test]
    fn who_comes_back_to_the_board_keeps_its_place_in_the_turns() {
        let queues = [queue(1, &[]), queue(2, &[])];
        let mut board = board(&queues.each_ref());
        let any = shape(None, &[]);
        for queue in &queues {
            board.may_have_work(queue.id);
        }
        let first = board.pick(&any).unwrap();
        board.came_back_empty(&first);
        board.may_have_work(queues[0].id);
        assert_eq!(board.pick(&any).unwrap().queues, [queues[1].id]);
        assert_eq!(board.pick(&any).unwrap().queues, [queues[0].id]);
    }

    #[test]
    fn an_empty_queue_leaves_the_board_unless_more_was_heard() {
        let only = queue(1, &[]);
        let mut board = board(&[&only]);
        board.may_have_work(only.id);
        let any = shape(None, &[]);
        let pick = board.pick(&any).unwrap();
        board.may_have_work(only.id); // while the runner was on its way
        board.came_back_empty(&pick);
        let pick = board.pick(&any).expect("there may be work");
        board.came_back_empty(&pick);
        assert_eq!(board.pick(&any), None);
    }

    #[test]
    fn a_grant_wakes_two_more_while_there_may_be_work() {
        let only = queue(1, &[]);
        let mut board = board(&[&only]);
        let any = shape(None, &[]);
        for name in ["a", "b", "c"] {
            board.wait(&any, name);
        }
        assert_eq!(board.may_have_work(only.id), Some("a"));
        assert_eq!(board.came_back_with_work(), ["b", "c"]);
        let pick = board.pick(&any).unwrap();
        board.came_back_empty(&pick);
        board.wait(&any, "d");
        assert_eq!(board.came_back_with_work(), [] as [&str; 0]);
    }

    #[test]
    fn who_leaves_after_being_woken_passes_it_on() {
        let only = queue(1, &[]);
        let mut board = board(&[&only]);
        let any = shape(None, &[]);
        let first = board.wait(&any, "a");
        let second = board.wait(&any, "b");
        assert_eq!(board.leave(&any, second), None, "it was still in line");
        board.wait(&any, "c");
        assert_eq!(board.may_have_work(only.id), Some("a"));
        assert_eq!(board.leave(&any, first), Some("c"), "it was woken and does not go");
    }

    #[test]
    fn a_queue_nobody_told_us_of_is_not_served() {
        let mut board = board(&[]);
        board.wait(&shape(None, &[]), "a");
        assert_eq!(board.may_have_work(queue(1, &[]).id), None);
    }
}
