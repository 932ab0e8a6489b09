//! Tenants that are made under a name, and what is not there yet.

use crate::script::check_timeless;

#[test]
fn a_tenant_without_wishes_is_ready_at_once() {
    check_timeless(
        "
        -    create-tenant made-1                -> created
        -    create-tenant made-1                -> refused tenant_exists
        -    tenant made-1                       -> ready
        -    create-tenant made-2 config={}      -> created
        +    create-tenant made-2                -> refused tenant_exists
    ",
    );
}

#[test]
fn provisioning_is_refused_until_there_is_some() {
    check_timeless(
        "
        -    create-tenant wants config={\"runners\":{}} -> refused invalid_input desired_config
        -    create-tenant wants config=[]       -> refused invalid_input desired_config
        -    create-tenant wants                 -> created
    ",
    );
}
