//! `deltaci runner` as an operator gets it wrong.

use crate::{deltaci, stderr};

#[test]
fn a_runner_says_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "dci_something\n").unwrap();
    let (token, work) = (token.to_str().unwrap(), folder.path().to_str().unwrap());
    let with_token = ["runner", "--token-file", token, "--work-dir", work];
    for (words, says) in [
        (&["--server", "ftp://nowhere"][..], "must begin with http:// or https://"),
        (&["--server", "http://127.0.0.1:1", "--name", "a/b"], "is no name for a runner"),
        (&["--server", "http://127.0.0.1:1", "--capability", "rust"], "write KEY:VALUE"),
        (&["--server", "http://127.0.0.1:1", "--memory", "much"], "is no size"),
        (&["--server", "http://127.0.0.1:1", "--once", "--slots", "2"], "cannot be used with"),
        (&["--server", "http://127.0.0.1:1", "--slots", "0"], "--slots"),
    ] {
        let output = deltaci(&[&with_token, words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{words:?}: {}", stderr(&output));
        assert!(!stderr(&output).contains("dci_something"), "a token is never shown");
    }
}

#[test]
fn a_runner_without_a_token_says_where_to_put_it() {
    let output = deltaci(&["runner", "--server", "http://127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("DELTACI_TOKEN"), "{}", stderr(&output));
}
