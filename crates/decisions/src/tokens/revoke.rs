//! Revoke an access token: from the commit on it opens nothing. The record stays, for who asks what it was.

use wire::{TenantId, TokenId};

use crate::records::Token;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct RevokeToken {
    pub id: TokenId,
    pub scope: TokenScope,
}

/// Whose tokens the caller may see. One outside of it does not exist for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenScope {
    Any,
    /// Those of no tenant.
    Shared,
    Tenant(TenantId),
}

impl TokenScope {
    pub fn covers(self, token: &Token) -> bool {
        match self {
            TokenScope::Any => true,
            TokenScope::Shared => token.tenant.is_none(),
            TokenScope::Tenant(tenant) => token.tenant == Some(tenant),
        }
    }
}

impl Decide for RevokeToken {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Token(self.id));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let token = draft.get::<Token>(&self.id).filter(|token| self.scope.covers(token));
        let mut token = token.cloned().ok_or(Refusal::TokenNotFound)?;
        if token.revoked_at.is_none() {
            token.revoked_at = Some(draft.now);
            draft.put(token);
        }
        Ok(Answer::TokenRevoked)
    }
}
