//! A server without a port: whoever is in the process comes through its door.

use std::sync::Arc;
use std::time::Duration;

use decisions::Policy;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use server::artifacts::Judge;
use server::outbox::Rules;
use server::serve::{Duty, Server, Settings};
use store::Memory;
use store::blobs::Blobs;
use wire::TokenSecret;

use super::site::{ADMIN, bearer};

async fn start(duty: Duty, folder: &std::path::Path) -> Server<Memory> {
    let settings = Settings {
        listen: None,
        duty,
        policy: Policy::default(),
        admin_token: Some(TokenSecret::from(ADMIN.to_string())),
        blobs: Blobs::open(folder.to_str().expect("a text")).await.expect("a new folder"),
        judge: Judge::Absent,
        outbox: Rules::default(),
        collect_every: Duration::from_secs(3600),
        archive_logs_after: None,
        mirrors: None,
    };
    Server::start(Arc::new(Memory::default()), settings).await.expect("it starts")
}

/// The status of an answer through the door; `None` when nobody is behind it.
async fn asked(door: &server::doors::Door, token: &str) -> Option<u16> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(door.connect())).await.ok()?;
    tokio::spawn(connection);
    let request = Request::get("/v1/tenants").header("host", "inside").header("authorization", bearer(token));
    let response = sender.send_request(request.body(Empty::<Bytes>::new()).expect("a request")).await.ok()?;
    let status = response.status().as_u16();
    response.into_body().collect().await.expect("a whole answer");
    Some(status)
}

#[tokio::test]
async fn a_server_without_a_port_answers_inside_the_process_and_guards_its_door() {
    let folder = tempfile::tempdir().expect("a folder");
    for duty in [Duty::All, Duty::AnswerOnly] {
        let server = start(duty, folder.path()).await;
        assert_eq!(server.address, None);
        let door = server.door();
        assert_eq!(asked(&door, ADMIN).await, Some(200));
        assert_eq!(asked(&door, "somebody-else").await, Some(401));
        server.stop().await;
        assert_eq!(asked(&door, ADMIN).await, None, "behind the door is nobody");
    }
}
