//! Who a token belongs to, remembered for a few seconds so that a request costs no look into the store.
//!
//! A token revoked on this server is forgotten at once; one revoked on another server within [`LIFE`]. Secrets are not
//! kept: only hashes, compared in constant time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use decisions::Refusal;
use decisions::records::{Execution, Job, Token, TokenKind};
use machines::lease;
use store::{Store, StoreError};
use wire::runner::StaleReason;
use wire::{ExecId, LeaseHash, LeaseKey, TenantId, Time, TokenHash, TokenId, TokenKey, TokenSecret};

/// How long an answer of the store is believed.
const LIFE: Duration = Duration::from_secs(5);

/// Whose a lease is never changes; it is forgotten only to make room.
const LEASE_LIFE: Duration = Duration::from_secs(24 * 3600);

/// The most of each kind that is remembered; beyond it all of them are asked anew.
const KEPT_MAX: usize = 32_768;

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    Admin,
    Tenant(TenantId),
    /// A runner of one tenant, or of all.
    Runner(Option<TenantId>),
}

/// What a lease was granted for; it never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leased {
    pub tenant: TenantId,
    /// The job publishes a version, or it is not known that it does not.
    pub may_publish: bool,
}

pub struct Vault {
    /// The admin token that the server was started with.
    admin: Option<TokenHash>,
    tokens: Kept<TokenId, (TokenHash, Caller)>,
    tenants: Kept<String, TenantId>,
    leases: Kept<ExecId, Leased>,
    /// Leases that lived when they were looked at.
    alive: Kept<ExecId, (LeaseHash, TenantId)>,
    /// Counts revocations, so that an answer read before one is not remembered after it.
    revoked: AtomicU64,
}

impl Vault {
    pub fn new(admin: Option<&TokenSecret>) -> Vault {
        Vault {
            admin: admin.map(TokenSecret::hash),
            tokens: Kept::living(LIFE),
            tenants: Kept::living(LIFE),
            leases: Kept::living(LEASE_LIFE),
            alive: Kept::living(LIFE),
            revoked: AtomicU64::new(0),
        }
    }

    /// Whose token this is, if it is anybody's.
    pub async fn caller<S: Store>(
        &self,
        store: &S,
        secret: &TokenSecret,
        now: Time,
    ) -> Result<Option<Caller>, StoreError> {
        let key = secret.key();
        if self.admin.is_some_and(|admin| admin == key.hash) {
            return Ok(Some(Caller::Admin));
        }
        if key.id == TokenId::FIRST {
            return Ok(None); // a text that we did not mint
        }
        if let Some((hash, caller)) = self.tokens.get(&key.id, now) {
            return Ok((hash == key.hash).then_some(caller));
        }
        let revoked = self.revoked.load(Ordering::Acquire);
        let Some(caller) = store.token(key.id).await?.and_then(|token| caller_of(&token, key)) else {
            return Ok(None);
        };
        self.tokens.put(key.id, (key.hash, caller), now);
        if self.revoked.load(Ordering::Acquire) != revoked {
            self.tokens.remove(&key.id);
        }
        Ok(Some(caller))
    }

    pub fn forget(&self, id: TokenId) {
        self.revoked.fetch_add(1, Ordering::AcqRel);
        self.tokens.remove(&id);
    }

    /// The tenant with this id or name. A name does not move from one tenant to another.
    pub async fn tenant<S: Store>(
        &self,
        store: &S,
        named: &str,
        now: Time,
    ) -> Result<Option<TenantId>, StoreError> {
        if let Some(tenant) = self.tenants.get(named, now) {
            return Ok(Some(tenant));
        }
        let found = match named.parse() {
            Ok(id) => store.tenant(id).await?,
            Err(_) => store.tenant_named(named).await?,
        };
        if let Some(tenant) = &found {
            self.tenants.put(named.into(), tenant.id, now);
        }
        Ok(found.map(|tenant| tenant.id))
    }
}

/// Leases: a runner of one tenant speaks for that tenant's jobs only, whatever lease id it got hold of.
impl Vault {
    pub fn granted(&self, execution: ExecId, leased: Leased, now: Time) {
        self.leases.put(execution, leased, now);
    }

    /// As far as it is remembered.
    pub fn leased(&self, execution: ExecId, now: Time) -> Option<Leased> {
        self.leases.get(&execution, now)
    }

    /// The tenant whose job was leased; `None` for a lease that never was.
    pub async fn leased_by<S: Store>(
        &self,
        store: &S,
        execution: ExecId,
        now: Time,
    ) -> Result<Option<TenantId>, StoreError> {
        if let Some(leased) = self.leases.get(&execution, now) {
            return Ok(Some(leased.tenant));
        }
        let Some(job) = store.execution_job(execution).await? else { return Ok(None) };
        let tenant = store.job_file(job).await?.map(|file| file.job.tenant);
        if let Some(tenant) = tenant {
            self.granted(execution, Leased { tenant, may_publish: true }, now);
        }
        Ok(tenant)
    }

    /// The tenant whose job is being worked on under this lease. One that ended is believed to live for [`LIFE`] at most:
    /// blobs alone have no effect, and its last word is refused at once.
    pub async fn lease_alive<S: Store>(
        &self,
        store: &S,
        lease: LeaseKey,
        now: Time,
    ) -> Result<Result<TenantId, Refusal>, StoreError> {
        if let Some((hash, tenant)) = self.alive.get(&lease.execution, now)
            && hash == lease.hash
        {
            return Ok(Ok(tenant));
        }
        let stale = |reason| Ok(Err(Refusal::StaleLease { reason }));
        let Some((job, execution)) = execution_of(store, lease.execution).await? else {
            return stale(StaleReason::LeaseUnknown);
        };
        if execution.lease_hash != lease.hash {
            return stale(StaleReason::LeaseUnknown);
        }
        if !execution.lease.get().is_live() || execution.expires_at <= now {
            return stale(stale_reason(&execution));
        }
        self.alive.put(lease.execution, (lease.hash, job.tenant), now);
        Ok(Ok(job.tenant))
    }
}

/// An execution and its job.
pub async fn execution_of<S: Store>(store: &S, id: ExecId) -> Result<Option<(Job, Execution)>, StoreError> {
    let Some(job) = store.execution_job(id).await? else { return Ok(None) };
    let Some(file) = store.job_file(job).await? else { return Ok(None) };
    let execution = file.executions.into_iter().find(|execution| execution.id == id);
    Ok(execution.map(|execution| (file.job, execution)))
}

fn stale_reason(execution: &Execution) -> StaleReason {
    match execution.lease.get() {
        lease::State::Granted | lease::State::Active | lease::State::Expired => StaleReason::LeaseExpired,
        lease::State::Revoked => StaleReason::LeaseRevoked,
        lease::State::Completed => StaleReason::LeaseCompleted,
        lease::State::Canceled => StaleReason::LeaseCanceled,
    }
}

fn caller_of(token: &Token, key: TokenKey) -> Option<Caller> {
    if token.hash != key.hash || token.revoked_at.is_some() {
        return None;
    }
    match (token.kind, token.tenant) {
        (TokenKind::Admin, _) => Some(Caller::Admin),
        (TokenKind::Tenant, Some(tenant)) => Some(Caller::Tenant(tenant)),
        (TokenKind::Tenant, None) => None,
        (TokenKind::Runner, tenant) => Some(Caller::Runner(tenant)),
    }
}

/// A small memory whose entries run out.
struct Kept<K, V> {
    life: Duration,
    entries: RwLock<HashMap<K, (Time, V)>>,
}

impl<K: Hash + Eq, V: Copy> Kept<K, V> {
    fn living(life: Duration) -> Kept<K, V> {
        Kept { life, entries: RwLock::new(HashMap::new()) }
    }

    fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q, now: Time) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
    {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).filter(|(until, _)| *until > now).map(|(_, value)| *value)
    }

    fn put(&self, key: K, value: V, now: Time) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= KEPT_MAX {
            entries.clear();
        }
        entries.insert(key, (now.plus(self.life), value));
    }

    fn remove(&self, key: &K) {
        self.entries.write().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
