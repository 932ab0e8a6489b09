//! Tokens: made, listed, revoked. The secret is shown once, when it is made.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::TokenId;
use crate::time::Time;
use crate::token::TokenSecret;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CreateToken {
    pub kind: TokenKind,
    /// For people: whose it is, what it is for.
    #[serde(default)]
    #[schema(max_length = 200, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: String,
}

/// What a token opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenKind {
    Admin,
    Tenant,
    Runner,
}

/// The one answer that holds the secret.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct MintedToken {
    pub id: TokenId,
    pub token: TokenSecret,
    pub kind: TokenKind,
    pub name: String,
    pub state: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    pub id: TokenId,
    /// `active` or `revoked`.
    pub state: String,
    pub kind: TokenKind,
    pub name: String,
    pub created_at: Time,
    pub revoked_at: Option<Time>,
}
