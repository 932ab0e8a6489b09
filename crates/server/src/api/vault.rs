//! Who a token belongs to, remembered for a few seconds so that a request costs no look into the store.
//!
//! A token revoked on this server is forgotten at once; one revoked on another server within [`LIFE`]. Secrets are not
//! kept: only hashes, compared in constant time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use decisions::records::{Token, TokenKind};
use store::{Store, StoreError};
use wire::{ExecId, TenantId, Time, TokenHash, TokenId, TokenKey, TokenSecret};

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

pub struct Vault {
    /// The admin token that the server was started with.
    admin: Option<TokenHash>,
    tokens: Kept<TokenId, (TokenHash, Caller)>,
    tenants: Kept<String, TenantId>,
    leases: Kept<ExecId, TenantId>,
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
    pub fn granted(&self, execution: ExecId, tenant: TenantId, now: Time) {
        self.leases.put(execution, tenant, now);
    }

    /// The tenant whose job was leased; `None` for a lease that never was.
    pub async fn leased_by<S: Store>(
        &self,
        store: &S,
        execution: ExecId,
        now: Time,
    ) -> Result<Option<TenantId>, StoreError> {
        if let Some(tenant) = self.leases.get(&execution, now) {
            return Ok(Some(tenant));
        }
        let Some(job) = store.execution_job(execution).await? else { return Ok(None) };
        let tenant = store.job_file(job).await?.map(|file| file.job.tenant);
        if let Some(tenant) = tenant {
            self.granted(execution, tenant, now);
        }
        Ok(tenant)
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
