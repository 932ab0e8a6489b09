//! A page of a list.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page; `next` goes into `?after=` of the next request, and is null on the last one.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next: Option<String>,
}
