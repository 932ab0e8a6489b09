//! Routes and their description, kept together: what is served is what the OpenAPI document lists.
//!
//! A handler says what is its own (body, answer, the refusals it knows). What every route may answer (a bad token, a bad
//! body, a store that is away) is added here, once.

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter};
use store::Store;
use utoipa::__dev::{SchemaReferences, Tags};
use utoipa::openapi::path::{Operation, Paths};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, HttpMethod, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr,
    Required, ResponseBuilder, Schema,
};
use utoipa::{Path, ToSchema};

use crate::api::state::Api;

/// The name of the security scheme in the document.
pub const TOKEN: &str = "token";

/// The content type of a body that is no message.
const BYTES: &str = "application/octet-stream";

/// What `#[utoipa::path]` makes beside a handler: `__path_` and the handler's name.
pub trait Described: Path + SchemaReferences + Tags<'static> {}
impl<P: Path + SchemaReferences + Tags<'static>> Described for P {}

/// A router and the description of all that was added to it.
pub struct Routes<S> {
    pub router: Router<Api<S>>,
    paths: Paths,
    schemas: Vec<(String, RefOr<Schema>)>,
}

impl<S: Store> Routes<S> {
    pub fn new() -> Routes<S> {
        let mut schemas = vec![(
            wire::api::Problem::name().into(),
            <wire::api::Problem as utoipa::PartialSchema>::schema(),
        )];
        wire::api::Problem::schemas(&mut schemas);
        Routes { router: Router::new(), paths: Paths::new(), schemas }
    }

    /// Serves a handler where its description `P` says.
    pub fn add<P, H, T>(mut self, handler: H) -> Routes<S>
    where
        P: Described,
        H: Handler<T, Api<S>>,
        T: 'static,
    {
        let methods = P::methods();
        let filters = methods.iter().map(filter);
        let served = filters.fold(MethodRouter::new(), |router, filter| router.on(filter, handler.clone()));
        self.router = self.router.route(&P::path(), served);
        self.describe::<P>()
    }

    /// Describes what is served by other means.
    pub fn describe<P: Described>(mut self) -> Routes<S> {
        // What a path ends with, however deep, is one parameter of the document.
        let path = P::path().replace("{*", "{");
        P::schemas(&mut self.schemas);
        let mut operation = with_usual_problems(P::operation(), &path);
        let tags = P::tags();
        // Handlers are named within their file; an operation's id is unique in the document.
        operation.operation_id = operation.operation_id.map(|id| format!("{}_{id}", tags.join("_")));
        operation.tags = Some(tags.into_iter().map(Into::into).collect());
        // Of bytes as they are there may be none; only a message is always something.
        if let Some(RefOr::T(body)) = &mut operation.request_body
            && body.content.contains_key(BYTES)
        {
            body.required = Some(Required::False);
        }
        self.paths.add_path_operation(&path, P::methods(), operation);
        self
    }

    pub fn document(&self) -> OpenApi {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("An admin, tenant or runner token"))
            .build();
        let components = ComponentsBuilder::new()
            .schemas_from_iter(self.schemas.clone())
            .security_scheme(TOKEN, SecurityScheme::Http(scheme))
            .build();
        let info = InfoBuilder::new()
            .title("Delta CI")
            .version(env!("CARGO_PKG_VERSION"))
            .description(Some("A self-hosted CI that never loses a job and can always say why."))
            .build();
        OpenApiBuilder::new().info(info).paths(self.paths.clone()).components(Some(components)).build()
    }
}

fn filter(method: &HttpMethod) -> MethodFilter {
    match method {
        HttpMethod::Get => MethodFilter::GET,
        HttpMethod::Put => MethodFilter::PUT,
        HttpMethod::Post => MethodFilter::POST,
        HttpMethod::Delete => MethodFilter::DELETE,
        HttpMethod::Options => MethodFilter::OPTIONS,
        HttpMethod::Head => MethodFilter::HEAD,
        HttpMethod::Patch => MethodFilter::PATCH,
        HttpMethod::Trace => MethodFilter::TRACE,
    }
}

/// What any operation of this kind may answer.
fn with_usual_problems(mut operation: Operation, path: &str) -> Operation {
    let mut usual = vec![("500", "A mistake of ours"), ("503", "Try again after `Retry-After`")];
    if operation.security.is_some() {
        usual.extend([("401", "No, an unknown or a revoked token"), ("403", "A token of the wrong kind")]);
    }
    if path.contains('{') {
        usual.push(("404", "No such thing, or not the caller's"));
    }
    let takes_query = operation.parameters.iter().flatten().any(|parameter| match parameter {
        RefOr::T(parameter) => parameter.parameter_in == utoipa::openapi::path::ParameterIn::Query,
        RefOr::Ref(_) => false,
    });
    if takes_query {
        usual.extend([("400", "A request that cannot be read"), ("422", "A parameter is wrong")]);
    }
    if operation.request_body.is_some() {
        usual.extend([
            ("400", "A body that cannot be read"),
            ("408", "The body took too long"),
            ("413", "The body is too large"),
            ("415", "The body is not JSON"),
            ("422", "A field is missing or wrong"),
        ]);
    }
    for (status, about) in usual {
        let known = operation.responses.responses.contains_key(status);
        if !known {
            operation.responses.responses.insert(status.into(), problem(about));
        }
    }
    operation
}

fn problem(about: &str) -> RefOr<utoipa::openapi::Response> {
    let schema = Ref::from_schema_name(wire::api::Problem::name());
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new().description(about).content("application/problem+json", content).build().into()
}
