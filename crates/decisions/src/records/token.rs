//! Token: who may call, for whom, and until when. The secret itself is known to its owner only.

use wire::{TenantId, Time, TokenHash, TokenId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// May do everything.
    Admin,
    /// May do everything within one tenant.
    Tenant,
    /// May lease jobs: one tenant's, or everybody's if it belongs to no tenant.
    Runner,
}

impl TokenKind {
    pub const ALL: [TokenKind; 3] = [TokenKind::Admin, TokenKind::Tenant, TokenKind::Runner];

    pub fn as_str(self) -> &'static str {
        match self {
            TokenKind::Admin => "admin",
            TokenKind::Tenant => "tenant",
            TokenKind::Runner => "runner",
        }
    }

    pub fn parse(text: &str) -> Option<TokenKind> {
        TokenKind::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub id: TokenId,
    pub kind: TokenKind,
    /// `None`: not of one tenant.
    pub tenant: Option<TenantId>,
    /// For a person, to tell it from others.
    pub name: String,
    pub hash: TokenHash,
    pub created_at: Time,
    pub revoked_at: Option<Time>,
}
