//! Create an access token. Only the hash of its secret comes in here.

use wire::{TenantId, TokenHash, TokenId};

use crate::records::{Tenant, Token, TokenKind};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct CreateToken {
    /// Minted at the edge, with the secret.
    pub id: TokenId,
    pub hash: TokenHash,
    pub kind: TokenKind,
    pub tenant: Option<TenantId>,
    pub name: String,
}

const NAME_LENGTH_MAX: usize = 200;

impl Decide for CreateToken {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Token(self.id));
        asks.extend(self.tenant.map(Ask::Tenant));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        if let Some(known) = draft.get::<Token>(&self.id) {
            let same = known.hash == self.hash;
            return if same { Ok(Answer::TokenCreated) } else { Err(invalid("id", "it is taken".into())) };
        }
        self.check()?;
        if let Some(tenant) = self.tenant {
            draft.get::<Tenant>(&tenant).ok_or(Refusal::TenantNotFound)?;
        }
        draft.put(Token {
            id: self.id,
            kind: self.kind,
            tenant: self.tenant,
            name: self.name.clone(),
            hash: self.hash,
            created_at: draft.now,
            revoked_at: None,
        });
        Ok(Answer::TokenCreated)
    }
}

impl CreateToken {
    fn check(&self) -> Result<(), Refusal> {
        if self.name.chars().count() > NAME_LENGTH_MAX || self.name.contains(char::is_control) {
            let problem =
                format!("a token's name has at most {NAME_LENGTH_MAX} characters and no control characters");
            return Err(invalid("name", problem));
        }
        match (self.kind, self.tenant) {
            (TokenKind::Admin, Some(_)) => Err(invalid("kind", "an admin token belongs to no tenant".into())),
            (TokenKind::Tenant, None) => Err(invalid("kind", "a tenant token needs its tenant".into())),
            (TokenKind::Admin, None) | (TokenKind::Tenant, Some(_)) | (TokenKind::Runner, _) => Ok(()),
        }
    }
}

fn invalid(field: &'static str, problem: String) -> Refusal {
    Refusal::InvalidInput { field, problem }
}
