"""What the fuzzer says about things that exist, and what it must not say: nothing that waits, and nothing that takes its
own token away."""

import os
from collections.abc import MutableMapping

import schemathesis
from schemathesis.core.parameters import ParameterLocation


def made(name):
    return os.environ[f"DELTACI_FUZZ_{name}"]


OWN_TOKENS = {made("TENANT_TOKEN_ID"), made("RUNNER_TOKEN_ID")}

LEASES = {
    "/v1/runner/ack": made("LEASE_LASTING_0"),
    "/v1/runner/heartbeat": made("LEASE_LASTING_0"),
    "/v1/runner/logs": made("LEASE_LASTING_0"),
    "/v1/runner/commit": made("LEASE_ENDING_0"),
    "/v1/runner/complete": made("LEASE_ENDING_0"),
    "/v1/runner/cancel-ack": made("LEASE_STOPPING_0"),
}

# By the part of a path that stands before `{id}`.
THINGS = {"runs": made("RUN_ID"), "jobs": made("JOB_ID"), "tokens": made("VICTIM_TOKEN_ID")}


@schemathesis.hook
def before_call(context, case, **kwargs):
    name_what_exists(case)
    # A long poll takes a minute. What was wrong with a wait stays wrong.
    if isinstance(case.body, dict) and isinstance(case.body.get("wait_seconds"), (int, float)):
        case.body["wait_seconds"] = min(case.body["wait_seconds"], 0)
    # A followed log ends with its job, which nobody here ends.
    if case.query and str(case.query.get("follow")).lower() in ("1", "true"):
        case.query["follow"] = "0"
    # `limit=` says as little as no limit, and is taken; no schema of a number says so.
    if case.query and case.meta is not None and case.meta.is_negative_at(ParameterLocation.QUERY):
        for name in ("limit", "after"):
            if name in case.query and not case.query[name] and not isinstance(case.query[name], (int, float)):
                case.query[name] = "nothing"
    # A repository is fetched. Nothing outside this machine is, and nothing here answers. One that is too long is refused
    # before.
    if isinstance(case.body, dict):
        repository = case.body.get("repository")
        if isinstance(repository, str) and 0 < len(repository) <= 2048:
            case.body["repository"] = "/nowhere"
    # No schema that every client can read says «but not like an id of ours», which is refused.
    if case.path.endswith("/jobs") and isinstance(case.body, dict) and is_ours(case.body.get("job_id")):
        case.body["job_id"] = "not-" + case.body["job_id"]
    if case.path_parameters and case.path_parameters.get("id") in OWN_TOKENS:
        case.path_parameters["id"] = made("VICTIM_TOKEN_ID")


def is_ours(job_id):
    return isinstance(job_id, str) and job_id.startswith("job_")


def name_what_exists(case):
    """The coverage phase knows no dictionaries: it would only ever be told that a thing is not there. What it made wrong
    on purpose stays as it is."""
    if case.meta is None or case.meta.phase.name != "coverage":
        return
    right = {location for location, part in case.meta.components.items() if not part.mode.is_negative}
    if ParameterLocation.PATH in right:
        before_id = case.path.split("/{id}")[0].split("/")[-1]
        put(case.path_parameters, "tenant", "acme")
        put(case.path_parameters, "id", THINGS.get(before_id))
    if ParameterLocation.BODY in right:
        put(case.body, "lease_id", LEASES.get(case.path))
        put(case.body, "runner_id", "r1")
    if ParameterLocation.HEADER in right:
        put(case.headers, "Delta-Lease", LEASES.get(case.path))


def put(where, name, value):
    if value is not None and isinstance(where, MutableMapping) and name in where:
        where[name] = value
