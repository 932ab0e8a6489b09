//! What one server wrote, another takes up without having seen it: runners by whose they are, logs, tokens.

use std::time::Duration;

use decisions::Policy;
use decisions::leases::{ExecutionDue, Lease};
use decisions::logs::AppendLog;
use decisions::records::{Log, Runner, TokenKind};
use decisions::tenants::RemoveWebhook;
use decisions::tokens::CreateToken;
use store::{Store, StoreError};
use wire::{TenantId, TokenId, TokenSecret};

use crate::commands::webhook;
use crate::postgres::database::with_database;
use crate::postgres::server::{Server, ack, complete, lease, tenant};

async fn runner_of(server: &Server, scope: Option<TenantId>) -> Runner {
    server.store.runners_of(scope, None, 10).await.unwrap().pop().unwrap()
}

/// Which record a runner has is known only with the job, and that is read in another round.
#[test]
fn another_server_finds_the_runner_of_a_tenant_and_the_shared_one_of_the_same_name() {
    with_database(|url| async move {
        let hasty = Policy { ack_timeout: Duration::ZERO, ..Policy::default() };
        for scope in [Some(tenant()), None] {
            let (one, two) = (Server::start(&url).await, Server::start(&url).await);
            let one = Server { policy: hasty.clone(), ..one };
            one.submit().await;
            let missed = Lease { tenant: scope, ..lease("a") };
            one.must(missed.clone()).await;
            two.must(ExecutionDue { execution: missed.execution }).await;
            assert_eq!(runner_of(&two, scope).await.acks_missed, 1, "{scope:?}");
            let one = Server { policy: Policy::default(), ..one };
            let kept = Lease { tenant: scope, ..lease("a") };
            one.must(kept.clone()).await;
            two.must(ack(&kept)).await;
            assert_eq!(runner_of(&one, scope).await.acks_missed, 0, "{scope:?}");
        }
        let server = Server::start(&url).await;
        assert_eq!(server.store.runners_of(None, None, 10).await.unwrap().len(), 1);
        assert_eq!(server.store.runners_of(Some(tenant()), None, 10).await.unwrap().len(), 1);
    });
}

/// A server remembers runners that it has only read, until somebody else has written.
#[test]
fn a_runner_that_was_remembered_is_read_again_when_another_server_changed_it() {
    let ours = || Lease { tenant: Some(tenant()), ..lease("a") };
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        for _ in 0..4 {
            one.submit().await;
        }
        for _ in 0..2 {
            let read = ours();
            one.must(read.clone()).await;
            one.must(ack(&read)).await;
        }
        let missed = ours();
        let hasty = Policy { ack_timeout: Duration::ZERO, ..Policy::default() };
        let one = Server { policy: hasty, ..one };
        one.must(missed.clone()).await;
        two.must(ExecutionDue { execution: missed.execution }).await;
        let one = Server { policy: Policy::default(), ..one };
        let kept = ours();
        one.must(kept.clone()).await;
        one.must(ack(&kept)).await;
        assert_eq!(runner_of(&one, Some(tenant())).await.acks_missed, 0, "it was seen, and forgiven");
    });
}

async fn finish_a_job(server: &Server) {
    server.submit().await;
    let lease = lease("a");
    server.must(lease.clone()).await;
    server.must(ack(&lease)).await;
    server.must(complete(&lease)).await;
}

/// A server that saves alone remembers whom it has to tell, until anybody has changed it.
#[test]
fn whoever_subscribes_anywhere_is_told_of_what_comes_next() {
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        let told = async || one.store.outbox_counts().await.unwrap().open;
        finish_a_job(&one).await;
        finish_a_job(&one).await;
        assert_eq!(told().await, 0, "nobody wants to know");
        two.must(webhook("ops", &["job.finished"])).await;
        finish_a_job(&one).await;
        finish_a_job(&one).await;
        assert_eq!(told().await, 2, "whom another server subscribed");
        one.must(webhook("chat", &["job.finished"])).await;
        finish_a_job(&one).await;
        assert_eq!(told().await, 4, "and whom this one did");
        two.must(RemoveWebhook { tenant: tenant(), name: "ops".into() }).await;
        finish_a_job(&one).await;
        assert_eq!(told().await, 5, "but nobody who left");
    });
}

fn part(lease: &Lease, offset: u64, bytes: &[u8]) -> AppendLog {
    AppendLog { lease: lease.lease.key(), offset, bytes: bytes.into() }
}

#[test]
fn two_servers_do_not_both_take_the_same_part_of_a_log() {
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        one.submit().await;
        let lease = lease("a");
        one.must(lease.clone()).await;
        one.must(ack(&lease)).await;
        for offset in [0, 5] {
            let late = one.prepare([part(&lease, offset, b"first").into()]).await.unwrap();
            two.must(part(&lease, offset, b"first")).await;
            let refused = one.finish(late).await;
            assert!(matches!(refused, Err(StoreError::Conflict(_))), "{offset}: {refused:?}");
        }
        one.must(part(&lease, 10, b"third")).await;
        let log = Log { execution: lease.execution, received: 15, head: 15, tail_from: 15, blob: None };
        assert_eq!(two.store.log(lease.execution).await, Ok(Some(log)));
        assert_eq!(two.store.log_chunks(lease.execution, 0, 100).await.unwrap().len(), 3);
    });
}

#[test]
fn the_same_token_made_by_two_servers_is_one() {
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        let id = TokenId::from_u128(7);
        let hash = TokenSecret::minted(id, [7; 32]).hash();
        let token = CreateToken { id, hash, kind: TokenKind::Runner, tenant: None, name: "ci".into() };
        let late = one.prepare([token.clone().into()]).await.unwrap();
        two.must(token.clone()).await;
        let refused = one.finish(late).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
        one.must(token).await;
        assert_eq!(one.store.tokens_of(None, None, 10).await.unwrap().len(), 1);
    });
}
