//! Lease ids and tokens are where they belong and nowhere else: not in a log at its most talkative, an error, a URL, the
//! database's bytes, a job's environment or its log. The test knows the tokens, and learns the lease ids on the wire.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::e2e::hand::Hand;
use crate::e2e::http::ask;
use crate::e2e::site::{ADMIN, LONG, Site};
use crate::e2e::worker::Worker;
use crate::stdout;

/// Says all that a job can see of its own environment and that of its ancestors, up to the runner.
const NOSY: &str = r#"
env
pid=$$
while [ "$pid" -gt 1 ]; do
  echo "looks at $(tr '\0' ' ' </proc/$pid/cmdline)"
  tr '\0' '\n' </proc/$pid/environ 2>/dev/null || true
  if tr '\0' ' ' </proc/$pid/cmdline | grep -q ' [r]unner --name'; then break; fi
  pid=$(awk '/^PPid:/ { print $2 }' /proc/$pid/status)
done
ls -R . "$HOME" "$TMPDIR"
"#;

/// A secret as text, its random part alone, and that part as bytes.
fn shapes(secret: &str) -> Vec<Vec<u8>> {
    let mut shapes = vec![secret.as_bytes().to_vec()];
    if let Some((_, random)) = secret.rsplit_once('_') {
        shapes.push(random.as_bytes().to_vec());
        let digits: Vec<char> = random.chars().collect();
        let pairs = digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16));
        shapes.push(pairs.collect::<Result<_, _>>().expect("the random part is hexadecimal"));
    }
    shapes
}

/// Places where no secret may be, and what is in them.
pub struct Places(Vec<(String, Vec<u8>)>);

impl Places {
    pub fn only(name: &str, bytes: Vec<u8>) -> Places {
        Places(vec![(name.into(), bytes)])
    }

    fn add(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.push((name.into(), bytes.into()));
    }

    fn add_folder(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                self.add_folder(&path);
            } else {
                self.add(path.display().to_string(), fs::read(&path).unwrap_or_default());
            }
        }
    }

    pub fn hold_none_of(&self, secrets: &[String]) {
        for shape in secrets.iter().flat_map(|secret| shapes(secret)) {
            for (name, bytes) in &self.0 {
                let found = bytes.windows(shape.len()).any(|window| window == shape);
                assert!(!found, "{name} holds a secret: {}", String::from_utf8_lossy(&shape));
            }
        }
    }
}

/// Errors of many kinds, each answered to a request that held a lease id.
fn problems(site: &Site, hand: &Hand<'_>) -> (Vec<String>, Vec<u8>) {
    site.submit("by-hand", "true");
    let held = hand.lease_job("by-hand");
    let lease = &held.lease;
    let mut bodies = Vec::new();
    let mut note = |status: u16, reply: crate::e2e::http::Reply| {
        assert_eq!(reply.status, status, "{}", reply.text());
        bodies.extend([reply.head.into_bytes(), reply.body].concat());
    };
    note(409, hand.beat(&held, "running")); // not acknowledged
    hand.ack(&held).expect(200);
    note(409, hand.cancel_ack(&held)); // not requested
    note(416, hand.append(&held, 7, b"too far"));
    note(422, hand.say("heartbeat", &json!({"lease_id": lease, "runner_id": 7})));
    note(422, hand.say("ack", &json!({"type": lease, "lease_id": lease, "runner_id": "a"})));
    note(422, hand.say("complete", &json!({"type": "Complete", "lease_id": [lease]})));
    note(404, site.get("/v1/tenants/default/jobs/nothing"));
    note(401, site.send(&format!("{ADMIN}x"), "GET", "/v1/tenants", &json!(null)));
    note(401, site.send(&format!("{}0", site.runner_token), "POST", "/v1/runner/lease", &json!({})));
    let headers = [("authorization", format!("Bearer {}", site.runner_token))];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let broken = format!("{{\"lease_id\": \"{lease}\", ");
    let json = [&headers[..], &[("content-type", "application/json")]].concat();
    note(400, ask(site.address(), "POST", "/v1/runner/ack", &json, broken.as_bytes()).expect("an answer"));
    hand.complete(&held, "SUCCEEDED", 0).expect(200);
    (vec![held.lease], bodies)
}

#[test]
fn lease_ids_and_tokens_are_found_nowhere_they_do_not_belong() {
    let mut site = Site::start(&[&LONG[..], &["--log-level", "trace"]].concat());
    let tokens = [
        site.token("/v1/tenants/default/tokens", "tenant"),
        site.token("/v1/admin/tokens", "runner"),
        site.token("/v1/admin/tokens", "admin"),
    ];
    // Before any runner may ask: the last question of one that has ended may still wait for its answer.
    let (mut secrets, bodies) = problems(&site, &Hand::new(&site, "by-hand"));
    let mut worker = Worker::start(&site, "a", &["--log-level", "trace"]);
    site.submit("nosy", NOSY);
    site.submit_with("fails", "echo oh no; exit 3", &json!({"max_attempts": 1}));
    site.submit("stopped", &site.noted("stopped", "sleep 600"));
    site.until_job("nosy", "SUCCEEDED");
    site.until_job("fails", "FAILED");
    site.until_noted("begin stopped");
    site.cancel("stopped");
    site.until_job("stopped", "CANCELED");
    worker.retire();
    assert!(worker.program.ended().success());
    let mut places = Places(Vec::new());
    for path in [
        "/metrics",
        "/v1/tenants/default/events?limit=1000",
        "/v1/tenants/default/runners",
        "/v1/tenants/default/tokens",
        "/v1/admin/tokens",
        "/v1/tenants/default/jobs/nosy",
    ] {
        places.add(path, site.get(path).body);
    }
    // While it runs, with all that is still in the log beside the database; and again after a restart and an end.
    places.add_folder(&site.path("data"));
    site.server.kill();
    site.restart();
    let log = site.log("nosy");
    assert!(log.contains("exe keep ") && log.contains("deltaci runner "), "it saw its ancestors:\n{log}");
    places.add("the job's log", log);
    places.add("explain", stdout(&site.tool(&["explain", "nosy"])));
    site.stop();
    places.add_folder(&site.path("data"));
    places.add_folder(&site.path("work"));
    places.add("errors", bodies);
    places.add("the server's talk", site.server.log());
    places.add("the runner's talk", worker.program.log());
    for exchange in worker.proxy.all() {
        places.add("a URL", exchange.path);
    }
    assert!(site.server.log().len() > 1000 && worker.program.log().contains("TRACE"), "they were talkative");
    assert_eq!(worker.proxy.leases().len(), 3);
    secrets.extend(worker.proxy.leases());
    secrets.extend(tokens);
    secrets.extend([site.runner_token.clone(), ADMIN.into()]);
    places.hold_none_of(&secrets);
}
