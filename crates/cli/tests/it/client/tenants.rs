//! `deltaci tenant`, and commands within another tenant.

use crate::harness::Site;
use crate::stderr;

#[test]
fn a_tenant_is_made_listed_and_shown() {
    let site = Site::start();
    let id = site.said(&["tenant", "create", "acme"]);
    assert!(id.starts_with("ten_"), "{id}");
    let list = site.said(&["tenant", "list"]);
    assert!(list.contains(&id) && list.contains("acme") && list.contains("default"), "{list}");
    assert_eq!(site.json(&["tenant", "list"])["items"].as_array().unwrap().len(), 2);
    let shown = site.said(&["tenant", "get", "acme"]);
    assert!(shown.contains(&id) && shown.contains("✓ ready"), "{shown}");
    assert_eq!(site.json(&["tenant", "get", &id])["name"], "acme");
}

#[test]
fn tenants_see_only_their_own() {
    let site = Site::start();
    site.said(&["tenant", "create", "acme"]);
    let run = site.said(&["trigger", "--step", "true", "--tenant", "acme"]);
    assert!(site.said(&["runs", "--tenant", "acme"]).contains(&run));
    assert!(!site.said(&["runs"]).contains(&run));
    site.exits(2, &["show", &run]);
    let output = site.exits(2, &["runs", "--tenant", "nobody"]);
    assert!(stderr(&output).contains("no such tenant"), "{}", stderr(&output));
}

#[test]
fn what_is_wrong_with_a_new_tenant_is_said() {
    let site = Site::start();
    site.said(&["tenant", "create", "acme", "--config", &site.file("empty.json", "{}")]);
    let taken = site.exits(1, &["tenant", "create", "acme"]);
    assert!(stderr(&taken).contains("choose another name"), "{}", stderr(&taken));
    site.exits(2, &["tenant", "create", "No Such Name"]);
    site.exits(2, &["tenant", "create", "other", "--config", &site.file("bad.json", "a: b")]);
    site.exits(2, &["tenant", "create", "other", "--config", "/not/there.json"]);
    site.exits(2, &["tenant", "get", "nobody"]);
}
