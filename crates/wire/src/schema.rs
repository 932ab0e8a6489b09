//! How the leaves of our messages look in an OpenAPI document. Structs derive theirs.

use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{KnownFormat, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::digest::Digest;
use crate::ids::{
    BlobId, CacheId, CollectionId, ExecId, JobId, MessageId, RunId, RunnerId, TenantId, TokenId, UploadId,
    VersionId,
};
use crate::runner::Decimal;
use crate::secret::{CancelToken, LeaseId};
use crate::time::Time;
use crate::token::TokenSecret;

/// One of the words by which jobs and runners find each other. Only described: it travels as a plain text.
pub struct Label;

/// How long a job may take. Only described.
pub struct Timeout;

/// What a tenant shall be: bounds, until there is provisioning. Only described.
pub struct TenantConfig;

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
    UploadId => id(UploadId::PREFIX);
    BlobId => id(BlobId::PREFIX);
    VersionId => id(VersionId::PREFIX);
    CacheId => id(CacheId::PREFIX);
    CollectionId => id(CollectionId::PREFIX);
    Digest => text().pattern(Some("^sha256:[0-9a-f]{64}$"));
    RunnerId => text().pattern(Some("^[!-~]{1,128}$")).description(Some("The name a runner gives itself"));
    LeaseId => text().description(Some("A secret: whoever holds it may speak for the attempt"));
    CancelToken => text().description(Some("As secret as the lease id"));
    TokenSecret => text().description(Some("A secret, shown once"));
    Time => text().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    Label => text().pattern(Some("^[^\\x00-\\x1f\\x7f-\\x9f]{1,128}$")).description(Some("Such as `os:linux`"));
    Timeout => number().exclusive_minimum(Some(0)).maximum(Some(100_000_000)).description(Some("In seconds"));
    TenantConfig => bounds()
        .property("quota", bounds().property("storage_bytes", bound()))
        .property("retention_seconds", number().exclusive_minimum(Some(0)).maximum(Some(100_000_000_000i64)));
    Decimal => number().minimum(Some(0));
}

fn bounds() -> ObjectBuilder {
    let nothing_else = AdditionalProperties::FreeForm(false);
    ObjectBuilder::new().schema_type(Type::Object).additional_properties(Some(nothing_else))
}

fn bound() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)).maximum(Some(1i64 << 60))
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn number() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Number)
}

fn id(prefix: &str) -> ObjectBuilder {
    text().pattern(Some(format!("^{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$")))
}

/// A text that is always the same.
pub fn constant(word: &'static str) -> RefOr<Schema> {
    RefOr::T(Schema::Object(text().enum_values(Some([word])).build()))
}
