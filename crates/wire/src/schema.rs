//! How the leaves of our messages look in an OpenAPI document. Structs derive theirs.

use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{KnownFormat, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::ids::{ExecId, JobId, MessageId, RunId, RunnerId, TenantId, TokenId};
use crate::runner::Decimal;
use crate::secret::{CancelToken, LeaseId};
use crate::time::Time;
use crate::token::TokenSecret;

macro_rules! leaf {
    ($($name:ty => $schema:expr;)+) => {$(
        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                RefOr::T(Schema::Object($schema.build()))
            }
        }
        impl ToSchema for $name {}
    )+};
}

leaf! {
    TenantId => id(TenantId::PREFIX);
    RunId => id(RunId::PREFIX);
    JobId => id(JobId::PREFIX);
    ExecId => id(ExecId::PREFIX);
    MessageId => id(MessageId::PREFIX);
    TokenId => id(TokenId::PREFIX);
    RunnerId => text().pattern(Some("^[!-~]{1,128}$")).description(Some("The name a runner gives itself"));
    LeaseId => text().description(Some("A secret: whoever holds it may speak for the attempt"));
    CancelToken => text().description(Some("As secret as the lease id"));
    TokenSecret => text().description(Some("A secret, shown once"));
    Time => text().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    Decimal => ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0));
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn id(prefix: &str) -> ObjectBuilder {
    text().pattern(Some(format!("^{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$")))
}

/// A text that is always the same.
pub fn constant(word: &'static str) -> RefOr<Schema> {
    RefOr::T(Schema::Object(text().enum_values(Some([word])).build()))
}

/// Capabilities, or what a job asks for.
pub fn words() -> utoipa::openapi::schema::Array {
    let word = text().min_length(Some(1)).max_length(Some(128));
    utoipa::openapi::schema::ArrayBuilder::new().items(word).max_items(Some(64)).build()
}
