//! The calls, one function each.

use serde::de::DeserializeOwned;
use serde_json::json;
use wire::api::{
    AuditEvent, CancelRun, CancelTaken, CreateTenant, CreateToken, DeliveryView, JobView, MintedToken, Page,
    PutWebhook, RerunRun, RetryTaken, RunSummary, RunView, TenantView, TokenView, TriggerRun, WebhookView,
};

use super::connection::escaped;
use super::{ApiError, Server};

/// Of a list that is read to its end.
const PAGES_MAX: usize = 1_000;
const PAGE_ITEMS: usize = 1_000;

/// Where tokens of one tenant, or of none, are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelf {
    Tenant,
    Shared,
}

impl Server {
    pub async fn trigger(&self, run: &TriggerRun) -> Result<RunView, ApiError> {
        self.post(&self.of_tenant("/runs"), run).await
    }

    pub async fn runs(&self, limit: u32, after: Option<&str>) -> Result<Page<RunSummary>, ApiError> {
        let after = after.map(|after| format!("&after={}", escaped(after))).unwrap_or_default();
        self.get(&self.of_tenant(&format!("/runs?limit={limit}{after}"))).await
    }

    pub async fn run(&self, id: &str) -> Result<RunView, ApiError> {
        self.get(&self.of_tenant(&format!("/runs/{}", escaped(id)))).await
    }

    pub async fn job(&self, id: &str) -> Result<JobView, ApiError> {
        self.get(&self.of_tenant(&format!("/jobs/{}", escaped(id)))).await
    }

    pub fn log_path(&self, job: &str, follow: bool) -> String {
        let follow = if follow { "?follow=1" } else { "" };
        self.of_tenant(&format!("/jobs/{}/log{follow}", escaped(job)))
    }

    pub async fn cancel_run(&self, id: &str, reason: Option<String>) -> Result<CancelTaken, ApiError> {
        self.post(&self.of_tenant(&format!("/runs/{}/cancel", escaped(id))), &CancelRun { reason }).await
    }

    pub async fn cancel_job(&self, id: &str) -> Result<CancelTaken, ApiError> {
        self.post(&self.of_tenant(&format!("/jobs/{}/cancel", escaped(id))), &json!({})).await
    }

    pub async fn rerun(&self, id: &str, failed_only: bool) -> Result<RunView, ApiError> {
        self.post(&self.of_tenant(&format!("/runs/{}/rerun", escaped(id))), &RerunRun { failed_only }).await
    }

    pub async fn retry_job(&self, id: &str) -> Result<RetryTaken, ApiError> {
        self.post(&self.of_tenant(&format!("/jobs/{}/retry", escaped(id))), &json!({})).await
    }

    pub async fn events(&self, entity: &str) -> Result<Vec<AuditEvent>, ApiError> {
        self.all(&self.of_tenant(&format!("/events?entity={}&", escaped(entity)))).await
    }

    pub async fn create_token(&self, shelf: Shelf, token: &CreateToken) -> Result<MintedToken, ApiError> {
        self.post(&self.tokens_path(shelf), token).await
    }

    pub async fn tokens(&self, shelf: Shelf) -> Result<Vec<TokenView>, ApiError> {
        self.all(&(self.tokens_path(shelf) + "?")).await
    }

    pub async fn revoke_token(&self, shelf: Shelf, id: &str) -> Result<(), ApiError> {
        self.delete(&format!("{}/{}", self.tokens_path(shelf), escaped(id))).await
    }

    pub async fn create_tenant(&self, tenant: &CreateTenant) -> Result<TenantView, ApiError> {
        self.post("/v1/tenants", tenant).await
    }

    pub async fn tenants(&self) -> Result<Vec<TenantView>, ApiError> {
        self.all("/v1/tenants?").await
    }

    pub async fn tenant(&self, named: &str) -> Result<TenantView, ApiError> {
        self.get(&format!("/v1/tenants/{}", escaped(named))).await
    }

    pub async fn put_webhook(&self, name: &str, webhook: &PutWebhook) -> Result<WebhookView, ApiError> {
        self.put(&self.of_tenant(&format!("/webhooks/{}", escaped(name))), webhook).await
    }

    pub async fn webhooks(&self) -> Result<Vec<WebhookView>, ApiError> {
        self.all(&self.of_tenant("/webhooks?")).await
    }

    pub async fn delete_webhook(&self, name: &str) -> Result<(), ApiError> {
        self.delete(&self.of_tenant(&format!("/webhooks/{}", escaped(name)))).await
    }

    /// Of one state, or all.
    pub async fn deliveries(&self, state: Option<&str>) -> Result<Vec<DeliveryView>, ApiError> {
        let state = state.map(|state| format!("state={}&", escaped(state))).unwrap_or_default();
        self.all(&format!("/v1/admin/outbox?{state}")).await
    }

    pub async fn redrive(&self, id: &str) -> Result<DeliveryView, ApiError> {
        self.post(&format!("/v1/admin/outbox/{}/redrive", escaped(id)), &json!({})).await
    }

    fn tokens_path(&self, shelf: Shelf) -> String {
        match shelf {
            Shelf::Tenant => self.of_tenant("/tokens"),
            Shelf::Shared => "/v1/admin/tokens".into(),
        }
    }

    /// Every page of a list; `path` ends where the next parameter of its query begins.
    pub(super) async fn all<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, ApiError> {
        let mut items = Vec::new();
        let mut after = String::new();
        for _ in 0..PAGES_MAX {
            let page: Page<T> = self.get(&format!("{path}limit={PAGE_ITEMS}{after}")).await?;
            items.extend(page.items);
            match page.next {
                Some(next) => after = format!("&after={}", escaped(&next)),
                None => return Ok(items),
            }
        }
        Err(self.broken("a list without an end"))
    }
}
