//! `deltaci token`.

use crate::harness::Site;
use crate::{stderr, stdout};

#[test]
fn a_token_opens_its_tenant_until_it_is_revoked() {
    let site = Site::start();
    let output = site.exits(0, &["token", "create", "--kind", "tenant", "--name", "Ada's laptop"]);
    let token = stdout(&output).trim_end().to_string();
    assert!(token.starts_with("dci_") && !token.contains(char::is_whitespace), "only the token is data");
    assert!(!stderr(&output).contains(&token));
    let as_ada = |words: &[&str]| {
        let output = site.command(words).env("DELTACI_TOKEN", &token).output().unwrap();
        output.status.code()
    };
    assert_eq!(as_ada(&["runs"]), Some(0));
    assert_eq!(as_ada(&["tenant", "list"]), Some(7), "that is for administrators");
    let list = site.said(&["token", "list"]);
    assert!(list.contains("✓ active") && list.contains("Ada's laptop") && !list.contains("dci_"), "{list}");
    let id = site.json(&["token", "list"])["items"][0]["id"].as_str().unwrap().to_string();
    site.said(&["token", "revoke", &id]);
    assert_eq!(as_ada(&["runs"]), Some(7));
    assert!(site.said(&["token", "list"]).contains("⊘ revoked"));
}

#[test]
fn tokens_of_no_tenant_are_kept_apart() {
    let site = Site::start();
    let shared = site.json(&["token", "create", "--kind", "runner", "--shared"]);
    let admin = site.json(&["token", "create", "--kind", "admin"]);
    assert!(stderr(&site.exits(0, &["token", "list"])).contains("no tokens"));
    let list = site.said(&["token", "list", "--shared"]);
    for token in [&shared, &admin] {
        assert!(list.contains(token["id"].as_str().unwrap()), "{list}");
    }
    let id = shared["id"].as_str().unwrap();
    let output = site.exits(2, &["token", "revoke", id]);
    assert!(stderr(&output).contains("--shared"), "{}", stderr(&output));
    assert_eq!(site.json(&["token", "revoke", id, "--shared"])["state"], "revoked");
    site.exits(2, &["token", "create", "--kind", "tenant", "--shared"]);
    site.exits(2, &["token", "create", "--kind", "king"]);
}

#[test]
fn a_runners_token_only_runs() {
    let site = Site::start();
    let token = site.said(&["token", "create", "--kind", "runner"]);
    let output = site.command(&["runs"]).env("DELTACI_TOKEN", &token).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert!(stderr(&output).contains("use a tenant token"), "{}", stderr(&output));
}
