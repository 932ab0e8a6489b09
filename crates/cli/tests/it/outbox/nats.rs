//! Events to a real NATS server: into a stream, which knows repetitions by their id, and to plain subscribers.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream;
use async_nats::jetstream::stream::Config;
use futures_util::StreamExt;

use super::served::{PATIENCE, Served, free_port};

struct Broker {
    child: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Broker {
    fn start() -> Broker {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port().to_string();
        let child = Command::new("nats-server")
            .args(["-a", "127.0.0.1", "-p", &port, "-js", "-sd"])
            .arg(folder.path())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server is installed by `cargo xtask test`");
        Broker { child, address: format!("127.0.0.1:{port}"), _folder: folder }
    }

    async fn connect(&self) -> async_nats::Client {
        loop {
            match async_nats::connect(&self.address).await {
                Ok(client) => return client,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended already
        let _ = self.child.wait();
    }
}

const JOBS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_gets_events_by_stream_and_by_subject() {
    let story = async {
        let broker = Broker::start();
        let client = broker.connect().await;
        let streams = jetstream::new(client.clone());
        let config = Config { name: "EVENTS".into(), subjects: vec!["events.>".into()], ..Config::default() };
        let mut stream = streams.create_stream(config).await.unwrap();
        let mut plain = client.subscribe("plain.jobs").await.unwrap();
        client.flush().await.unwrap();

        let own = format!("nats://{}", broker.address);
        let served = Served::start(&["--allow-private-webhooks", "--nats", &own]);
        served.subscribe("stream", "nats:events.jobs", "job.finished");
        served.subscribe("plain", "nats:plain.jobs", "job.finished");
        served.subscribe("other", &format!("nats://{}/events.other", broker.address), "job.finished");
        tokio::task::block_in_place(|| served.run_ends(JOBS));
        let delivered = tokio::task::block_in_place(|| served.all_are("delivered", JOBS * 3));

        let of = |url: &str| -> BTreeSet<String> {
            let to_url = delivered.iter().filter(|it| it["url"].as_str().unwrap().ends_with(url));
            to_url.map(|it| it["id"].as_str().unwrap().to_owned()).collect()
        };
        let mut ids = BTreeSet::new();
        while ids.len() < JOBS {
            let message = plain.next().await.unwrap();
            let body: serde_json::Value = serde_json::from_slice(&message.payload).unwrap();
            assert_eq!(body["type"], "job.finished");
            ids.insert(message.headers.unwrap().get(NATS_MESSAGE_ID).unwrap().to_string());
        }
        assert_eq!(ids, of("nats:plain.jobs"));
        let state = &stream.info().await.unwrap().state;
        assert_eq!(state.messages, JOBS as u64 * 2);
        let mut kept = BTreeSet::new();
        for sequence in 1..=state.messages {
            let message = stream.get_raw_message(sequence).await.unwrap();
            kept.insert(message.headers.get(NATS_MESSAGE_ID).unwrap().to_string());
        }
        assert_eq!(kept, of("nats:events.jobs").union(&of("/events.other")).cloned().collect());
    };
    tokio::time::timeout(PATIENCE, story).await.expect("it takes far too long");
}
