//! Lanes: what may be claimed of each subscriber, in which order, and that no store lets a turn be taken out of order.

use std::time::Duration;

use decisions::deliveries::RedriveDelivery;
use decisions::jobs::CancelJob;
use decisions::records::{Delivery, LaneKey, Webhook, WebhookKey};
use decisions::tenants::{PutWebhook, RemoveWebhook};
use decisions::{Answer, Ask};
use machines::delivery;
use store::{Store, StoreError};
use wire::MessageId;

use crate::commands::{claim, delivered, job_id, submit, tenant, undelivered, webhook};
use crate::desk::Desk;
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    a_lane_is_ready_while_something_of_it_is_due,
    lanes_are_paged_in_order,
    a_lane_gives_its_oldest_first,
    an_ordered_lane_gives_one_at_a_time,
    turns_follow_what_happened_within_a_batch_too,
    a_dead_letter_lets_the_next_one_pass,
    only_the_first_of_an_ordered_lane_can_be_claimed,
    a_claim_decided_on_an_older_world_is_a_conflict,
    deliveries_are_listed_by_state,
    subscriptions_are_found_and_listed,
    turns_go_on_after_a_subscription_comes_back,
]);

on_stores!(memory, postgres => [two_servers_never_give_out_the_same_turn]);

const ALL: usize = 1_000_000;
const MICRO: Duration = Duration::from_micros(1);

fn ordered(name: &str) -> PutWebhook {
    PutWebhook { ordered: true, ..webhook(name, &["job.finished"]) }
}

fn lane(name: &str) -> LaneKey {
    LaneKey { tenant: tenant(), lane: format!("hook:{name}") }
}

/// Jobs that are over at once, each with a message to every subscriber.
async fn happen<S: Store>(desk: &Desk<S>, numbers: impl IntoIterator<Item = u128>) {
    for number in numbers {
        desk.must(submit(number)).await;
        desk.must(CancelJob { tenant: tenant(), job: job_id(number) }).await;
        desk.pass(MICRO);
    }
}

/// The messages of a lane, by what they are about.
async fn of_lane<S: Store>(desk: &Desk<S>, name: &str) -> Vec<Delivery> {
    let all = desk.store.deliveries_after(None, ALL).await.unwrap();
    let mut of_lane: Vec<Delivery> = all.into_iter().filter(|it| it.lane_key() == lane(name)).collect();
    of_lane.sort_by_key(|it| it.subject.clone());
    of_lane
}

async fn ids_of<S: Store>(desk: &Desk<S>, name: &str) -> Vec<MessageId> {
    of_lane(desk, name).await.iter().map(|it| it.id).collect()
}

async fn ready_of<S: Store>(desk: &Desk<S>, name: &str, limit: usize) -> Vec<MessageId> {
    desk.store.deliveries_ready_of(&lane(name), desk.now(), limit).await.unwrap()
}

async fn lanes<S: Store>(desk: &Desk<S>) -> Vec<LaneKey> {
    desk.store.lanes_ready(desk.now(), None, ALL).await.unwrap()
}

async fn is_claimed<S: Store>(desk: &Desk<S>, id: MessageId) -> bool {
    matches!(desk.must(claim(id)).await, Answer::Claimed(Some(_)))
}

async fn a_lane_is_ready_while_something_of_it_is_due<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    assert_eq!(lanes(&desk).await, []);
    desk.must(webhook("b", &["job.finished"])).await;
    desk.must(ordered("a")).await;
    assert_eq!(lanes(&desk).await, [], "nobody was told anything");
    happen(&desk, [1]).await;
    assert_eq!(lanes(&desk).await, [lane("a"), lane("b")]);
    let (first, second) = (ids_of(&desk, "a").await[0], ids_of(&desk, "b").await[0]);
    desk.must_all([claim(first), claim(second)]).await;
    assert_eq!(lanes(&desk).await, [], "claimed");
    desk.must(undelivered(first, 1)).await;
    let hasty = desk.with_policy(|policy| policy.delivery_backoff_first = Duration::ZERO);
    hasty.must(undelivered(second, 1)).await;
    assert_eq!(lanes(&desk).await, [lane("b")], "the other pauses");
    happen(&desk, [2]).await;
    assert_eq!(lanes(&desk).await, [lane("b")], "what is behind the one that pauses waits too");
}

async fn lanes_are_paged_in_order<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let names = ["a", "b", "c", "d", "größe", "Z", "e'\"%_"];
    for (index, name) in names.iter().enumerate() {
        desk.must(PutWebhook { ordered: index % 2 == 0, ..webhook(name, &["job.finished"]) }).await;
    }
    happen(&desk, 1..=3).await;
    let mut expected = names.map(lane);
    expected.sort();
    let mut seen: Vec<LaneKey> = Vec::new();
    for count in [3, 3, 1, 0] {
        let page = desk.store.lanes_ready(desk.now(), seen.last(), 3).await.unwrap();
        assert_eq!(page.len(), count);
        seen.extend(page);
    }
    assert_eq!(seen, expected);
}

async fn a_lane_gives_its_oldest_first<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(webhook("ops", &["job.finished"])).await;
    desk.must(webhook("chat", &["job.finished"])).await;
    happen(&desk, 1..=6).await;
    let messages = ids_of(&desk, "ops").await;
    assert_eq!(ready_of(&desk, "ops", ALL).await, messages);
    assert_eq!(ready_of(&desk, "ops", 2).await, messages[..2]);
    desk.must_all([claim(messages[0]), claim(messages[3])]).await;
    assert_eq!(ready_of(&desk, "ops", ALL).await, [messages[1], messages[2], messages[4], messages[5]]);
    assert_eq!(ready_of(&desk, "nobody", ALL).await, []);
}

async fn an_ordered_lane_gives_one_at_a_time<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(ordered("ops")).await;
    happen(&desk, 1..=3).await;
    let messages = of_lane(&desk, "ops").await;
    assert_eq!(messages.iter().map(|it| it.turn).collect::<Vec<_>>(), [1, 2, 3]);
    for (index, message) in messages.iter().enumerate() {
        assert_eq!(ready_of(&desk, "ops", ALL).await, [message.id]);
        desk.must(claim(message.id)).await;
        assert_eq!(ready_of(&desk, "ops", ALL).await, [], "message {index} is on its way");
        desk.must(delivered(message.id, 1)).await;
    }
    assert_eq!(ready_of(&desk, "ops", ALL).await, []);
}

async fn turns_follow_what_happened_within_a_batch_too<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(ordered("ops")).await;
    desk.must_all((1..=20).map(submit)).await;
    desk.must_all((1..=20).map(|number| CancelJob { tenant: tenant(), job: job_id(number) })).await;
    let turns: Vec<i64> = of_lane(&desk, "ops").await.iter().map(|it| it.turn).collect();
    assert_eq!(turns, (1..=20).collect::<Vec<_>>(), "by job, which is the order of the commands");
}

async fn a_dead_letter_lets_the_next_one_pass<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let dead = desk.with_policy(|policy| policy.delivery_tries_max = 1);
    desk.must(ordered("ops")).await;
    happen(&desk, 1..=3).await;
    let messages = ids_of(&desk, "ops").await;
    desk.must(claim(messages[0])).await;
    dead.must(undelivered(messages[0], 1)).await;
    assert_eq!(ready_of(&desk, "ops", ALL).await, [messages[1]]);
    assert!(is_claimed(&desk, messages[1]).await);
    desk.must(delivered(messages[1], 1)).await;
    desk.must(RedriveDelivery { delivery: messages[0] }).await;
    assert_eq!(ready_of(&desk, "ops", ALL).await, [messages[0]], "it is the first again");
    assert!(!is_claimed(&desk, messages[2]).await);
    assert!(is_claimed(&desk, messages[0]).await);
}

async fn only_the_first_of_an_ordered_lane_can_be_claimed<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(ordered("ops")).await;
    happen(&desk, 1..=3).await;
    let messages = ids_of(&desk, "ops").await;
    assert!(!is_claimed(&desk, messages[2]).await);
    assert!(!is_claimed(&desk, messages[1]).await);
    let both = desk.must_all([claim(messages[0]), claim(messages[1])]).await;
    assert!(matches!(both[..], [Answer::Claimed(Some(_)), Answer::Claimed(None)]), "{both:?}");
    assert!(!is_claimed(&desk, messages[1]).await, "the first is on its way");
    desk.must(undelivered(messages[0], 1)).await;
    assert!(!is_claimed(&desk, messages[1]).await, "the first pauses");
}

/// Two workers saw the same head; the slower one must look again, and then finds it taken.
async fn a_claim_decided_on_an_older_world_is_a_conflict<S: Store>(desk: Desk<S>) {
    if S::SEES_AHEAD {
        return; // one writer: there is no older world
    }
    let desk = desk.open().await;
    desk.must(ordered("ops")).await;
    happen(&desk, 1..=2).await;
    let messages = ids_of(&desk, "ops").await;
    let slow = desk.prepare([claim(messages[0])]).await.unwrap();
    let early = desk.prepare([claim(messages[1])]).await.unwrap();
    assert!(is_claimed(&desk, messages[0]).await);
    assert!(matches!(desk.finish(slow).await, Err(StoreError::Conflict(_))));
    assert_eq!(desk.finish(early).await.unwrap(), [Ok(Answer::Claimed(None))]);
}

/// Whoever gives out a turn has read and written the subscriber's row: the second of two must decide again.
async fn two_servers_never_give_out_the_same_turn<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(ordered("ops")).await;
    desk.must_all([submit(1), submit(2)]).await;
    let cancel = |number| CancelJob { tenant: tenant(), job: job_id(number) };
    let slow = desk.prepare([cancel(1)]).await.unwrap();
    desk.must(cancel(2)).await;
    assert!(matches!(desk.finish(slow).await, Err(StoreError::Conflict(_))));
    desk.must(cancel(1)).await;
    let turns: Vec<i64> = of_lane(&desk, "ops").await.iter().map(|it| it.turn).collect();
    assert_eq!(turns, [2, 1]);
}

async fn deliveries_are_listed_by_state<S: Store>(desk: Desk<S>) {
    use delivery::State;
    let desk = desk.open().await;
    let dead = desk.with_policy(|policy| policy.delivery_tries_max = 1);
    desk.must(webhook("ops", &["job.finished"])).await;
    happen(&desk, 1..=6).await;
    let messages = ids_of(&desk, "ops").await;
    desk.must_all(messages[..4].iter().map(|message| claim(*message))).await;
    desk.must(delivered(messages[0], 1)).await;
    desk.must(undelivered(messages[1], 1)).await;
    dead.must(undelivered(messages[2], 1)).await;
    let listed = async |state, after, limit| -> Vec<MessageId> {
        desk.store.deliveries_in(state, after, limit).await.unwrap().iter().map(|it| it.id).collect()
    };
    for (state, index) in
        [(State::Delivered, 0), (State::RetryWait, 1), (State::DeadLetter, 2), (State::Delivering, 3)]
    {
        assert_eq!(listed(state, None, ALL).await, [messages[index]], "{state:?}");
    }
    let mut pending = messages[4..].to_vec();
    pending.sort();
    assert_eq!(listed(State::Pending, None, ALL).await, pending);
    assert_eq!(listed(State::Pending, None, 1).await, pending[..1]);
    assert_eq!(listed(State::Pending, Some(pending[0]), ALL).await, pending[1..]);
    let counts = desk.store.outbox_counts().await.unwrap();
    assert_eq!((counts.open, counts.dead), (4, 1));
}

async fn subscriptions_are_found_and_listed<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let key = |name: &str| WebhookKey { tenant: tenant(), name: name.into() };
    assert_eq!(desk.store.webhook(&key("a")).await.unwrap(), None);
    for name in ["c", "a", "b"] {
        desk.must(webhook(name, &["job.finished"])).await;
    }
    let found = desk.store.webhook(&key("a")).await.unwrap().unwrap();
    assert_eq!((found.secret.expose(), found.ordered), ("a secret of some length", false));
    let names = async |after: Option<&str>, limit| -> Vec<String> {
        let page: Vec<Webhook> = desk.store.webhooks_of(tenant(), after, limit).await.unwrap();
        page.into_iter().map(|it| it.key.name).collect()
    };
    assert_eq!(names(None, 2).await, ["a", "b"]);
    assert_eq!(names(Some("b"), 2).await, ["c"]);
    desk.must(RemoveWebhook { tenant: tenant(), name: "b".into() }).await;
    assert_eq!(names(None, 9).await, ["a", "c"]);
    let removed = desk.store.webhook(&key("b")).await.unwrap().unwrap();
    assert_eq!((removed.removed, removed.secret.expose()), (true, ""));
    desk.look(&[Ask::Tenant(tenant())], |book| assert_eq!(book.webhooks.peek_all().count(), 3)).await;
    happen(&desk, [1]).await;
    assert_eq!(lanes(&desk).await, [lane("a"), lane("c")], "who left is not told");
}

async fn turns_go_on_after_a_subscription_comes_back<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(ordered("ops")).await;
    happen(&desk, [1, 2]).await;
    desk.must(RemoveWebhook { tenant: tenant(), name: "ops".into() }).await;
    happen(&desk, [3]).await;
    desk.must(ordered("ops")).await;
    happen(&desk, [4]).await;
    let told: Vec<(String, i64)> =
        of_lane(&desk, "ops").await.into_iter().map(|it| (it.subject, it.turn)).collect();
    assert_eq!(told, [(1, 1), (2, 2), (4, 3)].map(|(job, turn)| (format!("{}/1", job_id(job)), turn)));
}
