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
use wire::{TenantId, Time, TokenHash, TokenId, TokenKey, TokenSecret};

/// How long an answer of the store is believed.
const LIFE: Duration = Duration::from_secs(5);

/// The most that is remembered; beyond it everything is asked anew.
const KEPT_MAX: usize = 10_000;

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
    /// Counts revocations, so that an answer read before one is not remembered after it.
    revoked: AtomicU64,
}

impl Vault {
    pub fn new(admin: Option<&TokenSecret>) -> Vault {
        Vault {
            admin: admin.map(TokenSecret::hash),
            tokens: Kept::default(),
            tenants: Kept::default(),
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
struct Kept<K, V>(RwLock<HashMap<K, (Time, V)>>);

impl<K, V> Default for Kept<K, V> {
    fn default() -> Kept<K, V> {
        Kept(RwLock::new(HashMap::new()))
    }
}

impl<K: Hash + Eq, V: Copy> Kept<K, V> {
    fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q, now: Time) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
    {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        kept.get(key).filter(|(until, _)| *until > now).map(|(_, value)| *value)
    }

    fn put(&self, key: K, value: V, now: Time) {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(key, (now.plus(LIFE), value));
    }

    fn remove(&self, key: &K) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
