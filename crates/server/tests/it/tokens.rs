//! Access tokens: who may have which, and that a revoked one stays revoked.

use crate::script::{check, check_timeless};

#[test]
fn a_token_belongs_to_a_tenant_or_to_nobody_as_its_kind_allows() {
    check_timeless(
        "
        -    token A admin                 -> created
        -    token B admin scope=own       -> refused invalid_input kind
        -    token C tenant scope=own      -> created
        -    token D tenant                -> refused invalid_input kind
        -    token E runner                -> created
        -    token F runner scope=own      -> created
        -    token G runner scope=other    -> refused tenant_not_found
    ",
    );
}

#[test]
fn making_the_same_token_twice_makes_one() {
    check_timeless(
        "
        -    token A runner                -> created
        +    token A runner                -> created
        -    token A runner                -> created
        -    token A runner secret=8       -> refused invalid_input id
        -    revoke A                      -> revoked
        -    token A runner                -> created
    ",
    );
}

#[test]
fn a_token_is_revoked_once_and_for_good() {
    check(
        "
        0s   token A runner scope=own      -> created
        0s   revoked A                     -> no
        1s   revoke A scope=own            -> revoked
        2s   revoke A                      -> revoked
        3s   revoked A                     -> 2s
        3s   token A runner scope=own      -> created
        3s   revoked A                     -> 2s
    ",
    );
}

#[test]
fn a_token_of_another_scope_is_not_found() {
    check_timeless(
        "
        -    token A runner scope=own      -> created
        -    token B runner                -> created
        -    revoke A scope=other          -> refused token_not_found
        -    revoke A scope=shared         -> refused token_not_found
        -    revoke B scope=own            -> refused token_not_found
        -    revoke C                      -> refused token_not_found
        -    revoked A                     -> no
        -    revoked B                     -> no
        -    revoke A scope=own            -> revoked
        -    revoke B scope=shared         -> revoked
    ",
    );
}
