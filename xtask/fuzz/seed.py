"""Gives a fresh server something to be fuzzed with, and prints what it made as `NAME=value` lines.

Called once per server by `cargo xtask schemathesis`; the names are those that schemathesis.toml refers to.
"""

import os

import requests

SERVER = os.environ["DELTACI_SERVER"]
ADMIN = os.environ["DELTACI_ADMIN_TOKEN"]
# Leases that nobody ends, leases to be ended, and leases whose job is to be stopped.
LEASES = {"LASTING": 3, "ENDING": 4, "STOPPING": 2}
RUNNER = "r1"


def post(token, path, body):
    headers = {"Authorization": f"Bearer {token}"}
    answer = requests.post(SERVER + path, json=body, headers=headers, timeout=10)
    assert answer.ok, f"POST {path}: {answer.status_code} {answer.text}"
    return answer.json()


def active_lease(runner, tenant):
    """A job that a runner has begun: its id, and the lease it runs under."""
    job = post(ADMIN, f"/v1/tenants/{tenant}/jobs", {"payload": {"seeded": True}})["id"]
    granted = post(runner, "/v1/runner/lease", {"runner_id": RUNNER, "job_id": job})
    lease = granted["lease_id"]
    said = {"lease_id": lease, "runner_id": RUNNER, "job_id": job, "accepted_at": "2026-01-04T08:00:00Z"}
    post(runner, "/v1/runner/ack", {"type": "AckLease"} | said)
    return job, lease


def main():
    tenant = post(ADMIN, "/v1/tenants", {"name": "acme"})
    tokens = "/v1/tenants/acme/tokens"
    own = post(ADMIN, tokens, {"kind": "tenant", "name": "the fuzzer's"})
    runner = post(ADMIN, tokens, {"kind": "runner", "name": "the fuzzer's"})
    victim = post(ADMIN, tokens, {"kind": "runner", "name": "may be revoked"})
    plan = {"jobs": [{"name": "a", "steps": ["true"]}, {"name": "b", "needs": ["a"]}]}
    run = post(ADMIN, "/v1/tenants/acme/runs", {"trigger_key": "seed", "plan": plan})
    over = post(ADMIN, "/v1/tenants/acme/runs", {"plan": plan})
    post(ADMIN, f"/v1/tenants/acme/runs/{over['id']}/cancel", {"reason": "so that it can be run again"})
    job = post(ADMIN, "/v1/tenants/acme/jobs", {"job_id": "chosen", "payload": 1})
    leases = {}
    for kind, count in LEASES.items():
        for number in range(count):
            begun, lease = active_lease(runner["token"], "acme")
            leases[f"LEASE_{kind}_{number}"] = lease
            if kind == "STOPPING":
                post(ADMIN, f"/v1/tenants/acme/jobs/{begun}/cancel", {})
    made = {
        "TENANT_ID": tenant["id"],
        "TENANT_TOKEN": own["token"],
        "TENANT_TOKEN_ID": own["id"],
        "RUNNER_TOKEN": runner["token"],
        "RUNNER_TOKEN_ID": runner["id"],
        "VICTIM_TOKEN_ID": victim["id"],
        "RUN_ID": run["id"],
        "RUN_OVER_ID": over["id"],
        "JOB_OF_RUN_ID": run["jobs"][0]["id"],
        "JOB_ID": job["uid"],
    }
    for name, value in (made | leases).items():
        print(f"DELTACI_FUZZ_{name}={value}")


main()
