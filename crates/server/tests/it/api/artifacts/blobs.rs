//! Blobs as they are read: whole, in ranges, or not at all when the caller has them.

use hyper::body::Bytes;
use store::Store;

use crate::api::artifacts::{digest_of, on_each_place};
use crate::api::site::{Reply, Site, Tenant, bearer};

on_each_place!(
    a_blob_says_what_it_is,
    ranges_are_parts_of_it,
    what_the_caller_has_is_not_sent,
    a_stranger_does_not_have_it,
);

const BYTES: &[u8] = b"0123456789";

async fn asked<S: Store>(
    site: &Site<S>,
    tenant: &Tenant,
    method: &str,
    digest: &str,
    headers: &[(&str, &str)],
) -> Reply {
    let token = bearer(&tenant.tenant);
    let mut all = vec![("authorization", &*token)];
    all.extend_from_slice(headers);
    site.send(method, &format!("{}/blobs/{digest}", tenant.path), &all, Bytes::new()).await
}

async fn a_blob_says_what_it_is<S: Store>(site: &Site<S>) {
    let acme = site.tenant("acme").await;
    let digest = site.bring(&acme, BYTES).await;
    for (method, body) in [("GET", BYTES), ("HEAD", b"")] {
        let reply = asked(site, &acme, method, &digest, &[]).await;
        assert_eq!((reply.status, &reply.body[..]), (200, body));
        for (name, value) in [
            ("content-length", "10"),
            ("content-type", "application/octet-stream"),
            ("etag", &*format!("\"{digest}\"")),
            ("accept-ranges", "bytes"),
            ("cache-control", "private, max-age=31536000, immutable"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(reply.header(name), value, "{method} {name}");
        }
    }
    assert_eq!(asked(site, &acme, "HEAD", &digest_of(b"none"), &[]).await.status, 404);
}

async fn ranges_are_parts_of_it<S: Store>(site: &Site<S>) {
    let acme = site.tenant("acme").await;
    let digest = site.bring(&acme, BYTES).await;
    for (range, said, body) in [
        ("bytes=0-0", "bytes 0-0/10", "0"),
        ("bytes=2-4", "bytes 2-4/10", "234"),
        ("bytes=7-", "bytes 7-9/10", "789"),
        ("bytes=-2", "bytes 8-9/10", "89"),
        ("bytes=5-99", "bytes 5-9/10", "56789"),
    ] {
        let reply = asked(site, &acme, "GET", &digest, &[("range", range)]).await;
        assert_eq!((reply.status, reply.text().as_str()), (206, body), "{range}");
        assert_eq!(reply.header("content-range"), said);
        assert_eq!(reply.header("content-length"), body.len().to_string());
    }
    for range in ["bytes=0-1,3-4", "bytes=4-2", "lines=1-2"] {
        let reply = asked(site, &acme, "GET", &digest, &[("range", range)]).await;
        assert_eq!((reply.status, &reply.body[..]), (200, BYTES), "{range}");
    }
    for range in ["bytes=10-", "bytes=-0", "bytes=99-100"] {
        let reply = asked(site, &acme, "GET", &digest, &[("range", range)]).await;
        reply.refused(416, "range_not_satisfiable");
        assert_eq!(reply.header("content-range"), "bytes */10");
    }
    let etag = format!("\"{digest}\"");
    let same = [("range", "bytes=0-0"), ("if-range", &*etag)];
    assert_eq!(asked(site, &acme, "GET", &digest, &same).await.status, 206);
    for other in ["\"sha256:other\"", "Sun, 06 Nov 1994 08:49:37 GMT"] {
        let headers = [("range", "bytes=0-0"), ("if-range", other)];
        assert_eq!(asked(site, &acme, "GET", &digest, &headers).await.status, 200);
    }
}

async fn what_the_caller_has_is_not_sent<S: Store>(site: &Site<S>) {
    let acme = site.tenant("acme").await;
    let digest = site.bring(&acme, BYTES).await;
    let etag = format!("\"{digest}\"");
    for known in [etag.clone(), format!("\"x\", W/{etag}"), "*".into()] {
        for method in ["GET", "HEAD"] {
            let reply = asked(site, &acme, method, &digest, &[("if-none-match", &known)]).await;
            assert_eq!((reply.status, reply.body.len()), (304, 0), "{known}");
            assert_eq!(reply.header("etag"), etag);
        }
    }
    assert_eq!(asked(site, &acme, "GET", &digest, &[("if-none-match", "\"x\"")]).await.status, 200);
}

async fn a_stranger_does_not_have_it<S: Store>(site: &Site<S>) {
    let (acme, beta) = (site.tenant("acme").await, site.tenant("beta").await);
    let digest = site.bring(&acme, BYTES).await;
    site.read(&beta, &digest).await.refused(404, "blob_not_found");
    let theirs = site.get(&beta.tenant, &format!("{}/blobs/{digest}", acme.path)).await;
    theirs.refused(404, "tenant_not_found");
}
