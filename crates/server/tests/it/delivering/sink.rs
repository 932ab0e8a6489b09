//! A subscriber: takes what is POSTed, notes it, and answers as it is told to.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

#[derive(Debug, Clone)]
pub struct Seen {
    pub id: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub at: Instant,
    pub answered: u16,
}

impl Seen {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a body is JSON")
    }
}

/// How a request is answered: the status, after a pause. Told the message's id and how often it came before.
pub type Answers = dyn Fn(&str, usize) -> (u16, Duration) + Send + Sync;

#[derive(Clone)]
pub struct Sink {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// The most requests that were here at once.
    most: Arc<AtomicUsize>,
}

impl Sink {
    pub async fn open(answers: impl Fn(&str, usize) -> (u16, Duration) + Send + Sync + 'static) -> Sink {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let sink = Sink { address, seen: Arc::default(), most: Arc::default() };
        tokio::spawn(sink.clone().serve(listener, Arc::new(answers)));
        sink
    }

    /// One that takes everything.
    pub async fn willing() -> Sink {
        Sink::open(|_, _| (200, Duration::ZERO)).await
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn most_at_once(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    /// What was taken (2xx), each message once, in order of its first time.
    pub fn taken(&self) -> Vec<Seen> {
        let mut first: BTreeMap<String, Seen> = BTreeMap::new();
        for seen in self.seen().into_iter().filter(|seen| seen.answered < 300) {
            first.entry(seen.id.clone()).or_insert(seen);
        }
        let mut taken: Vec<Seen> = first.into_values().collect();
        taken.sort_by_key(|seen| seen.at);
        taken
    }

    async fn serve(self, listener: TcpListener, answers: Arc<Answers>) {
        let here = Arc::new(AtomicUsize::new(0));
        loop {
            let Ok((stream, _)) = listener.accept().await else { return };
            let (sink, answers, here) = (self.clone(), answers.clone(), here.clone());
            let answer = service_fn(move |request| {
                let (sink, answers, here) = (sink.clone(), answers.clone(), here.clone());
                async move {
                    let now = here.fetch_add(1, Ordering::SeqCst) + 1;
                    sink.most.fetch_max(now, Ordering::SeqCst);
                    let response = sink.take(request, &*answers).await;
                    here.fetch_sub(1, Ordering::SeqCst);
                    Ok::<_, Infallible>(response)
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    }

    async fn take(&self, request: Request<Incoming>, answers: &Answers) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let id = head.headers["webhook-id"].to_str().unwrap().to_owned();
        let before = self.seen().iter().filter(|seen| seen.id == id).count();
        let (status, pause) = answers(&id, before);
        let seen = Seen { id, headers: head.headers, body, at: Instant::now(), answered: status };
        self.seen.lock().unwrap().push(seen);
        tokio::time::sleep(pause).await;
        let location = if status == 302 { "http://127.0.0.1:1/" } else { "" };
        Response::builder().status(status).header("location", location).body(Full::default()).unwrap()
    }
}
