-- The kernel's tables. Times are microseconds since 1970 (UTC); read one with datetime(at / 1000000, 'unixepoch').
-- The CHECK lists are the machines' states; a test compares them with the tables in crates/machines. They are written with
-- OR because SQLite builds a temporary B-tree for an IN of more than two, each time a row is written.

CREATE TABLE tenants (
    id          TEXT    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL UNIQUE,
    state       TEXT    NOT NULL
        CHECK (state = 'requested' OR state = 'planning' OR state = 'provisioning' OR state = 'ready'
            OR state = 'updating' OR state = 'deleting' OR state = 'archived' OR state = 'failed'),
    status_message TEXT NOT NULL,
    desired_config TEXT NOT NULL, -- canonical JSON
    revision    INTEGER NOT NULL CHECK (revision >= 1), -- the tenant's version
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may call. A token's text is a secret; only its hash is here.
CREATE TABLE tokens (
    id          TEXT    NOT NULL PRIMARY KEY,
    kind        TEXT    NOT NULL CHECK (kind = 'admin' OR kind = 'tenant' OR kind = 'runner'),
    tenant_id   TEXT    REFERENCES tenants (id), -- null: not of one tenant
    name        TEXT    NOT NULL,
    hash        BLOB    NOT NULL,
    created_at  INTEGER NOT NULL,
    revoked_at  INTEGER,
    CHECK ((tenant_id IS NULL OR kind <> 'admin') AND (tenant_id IS NOT NULL OR kind <> 'tenant'))
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_tenant ON tokens (tenant_id, id);

CREATE TABLE webhooks (
    tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
    name        TEXT    NOT NULL,
    url         TEXT    NOT NULL,
    events      TEXT    NOT NULL, -- a JSON array
    secret      TEXT    NOT NULL, -- signs the deliveries
    ordered     INTEGER NOT NULL,
    turns       INTEGER NOT NULL CHECK (turns >= 0), -- given out so far
    removed     INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT, WITHOUT ROWID;

-- A queue is a tenant's set of requirements; its id is made from both.
CREATE TABLE queues (
    id          INTEGER NOT NULL PRIMARY KEY,
    tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
    requires    TEXT    NOT NULL, -- a JSON array
    UNIQUE (id, tenant_id)
) STRICT;

CREATE TABLE runners (
    tenant_id    TEXT    NOT NULL, -- empty: shared by all tenants
    id           TEXT    NOT NULL,
    capabilities TEXT    NOT NULL, -- a JSON array
    acks_missed  INTEGER NOT NULL,
    barred_until INTEGER,
    last_seen_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    id              TEXT    NOT NULL PRIMARY KEY,
    tenant_id       TEXT    NOT NULL REFERENCES tenants (id),
    state           TEXT    NOT NULL
        CHECK (state = 'CREATED' OR state = 'PLANNING' OR state = 'PLAN_FAILED' OR state = 'QUEUED'
            OR state = 'RUNNING' OR state = 'CANCEL_REQUESTED' OR state = 'SUCCESS' OR state = 'FAILED'
            OR state = 'CANCELED' OR state = 'TIMEOUT' OR state = 'REPORTED'),
    outcome         TEXT
        CHECK (outcome = 'SUCCESS' OR outcome = 'FAILED' OR outcome = 'CANCELED' OR outcome = 'TIMEOUT'),
    status_message  TEXT    NOT NULL,
    attempt         INTEGER NOT NULL CHECK (attempt >= 1),
    rerun_of        TEXT    REFERENCES runs (id),
    trigger_key     TEXT,
    repository      TEXT,
    git_ref         TEXT,
    commit_id       TEXT,
    base            TEXT,
    fail_fast       INTEGER NOT NULL,
    trust           TEXT    NOT NULL CHECK (trust = 'trusted' OR trust = 'untrusted'),
    group_name      TEXT,
    group_id        BLOB    CHECK (length(group_id) = 32 AND (group_id IS NULL) = (group_name IS NULL)),
    supersede       INTEGER NOT NULL CHECK (NOT supersede OR group_id IS NOT NULL),
    jobs_total      INTEGER NOT NULL,
    jobs_open       INTEGER NOT NULL CHECK (jobs_open BETWEEN 0 AND jobs_total),
    required_failed INTEGER NOT NULL CHECK (required_failed >= 0),
    reports_open    INTEGER NOT NULL CHECK (reports_open >= 0),
    sweep           TEXT    CHECK (sweep = 'canceled' OR sweep = 'timed_out' OR sweep = 'fail_fast'),
    swept_to        TEXT,
    due_at          INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    finished_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX runs_trigger ON runs (tenant_id, trigger_key) WHERE trigger_key IS NOT NULL;
CREATE INDEX runs_tenant ON runs (tenant_id, id);
CREATE INDEX runs_planning ON runs (id) WHERE state = 'CREATED' OR state = 'PLANNING';
CREATE INDEX runs_due ON runs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX runs_sweeping ON runs (id) WHERE sweep IS NOT NULL;
-- A run is open until it finished; asking for that instead of the state spares this index every other step.
CREATE INDEX runs_group ON runs (group_id, id) WHERE group_id IS NOT NULL AND finished_at IS NULL;

-- Where the runs of a concurrency group meet; its id is made from the tenant, the repository and the name.
CREATE TABLE run_groups (
    id          BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 32),
    tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
    joined      INTEGER NOT NULL CHECK (joined >= 1),
    newest      TEXT -- of those that supersede; written before the run itself
) STRICT, WITHOUT ROWID;

CREATE TABLE run_plans (
    run_id  TEXT NOT NULL PRIMARY KEY REFERENCES runs (id),
    plan    TEXT NOT NULL -- JSON
) STRICT;

CREATE TABLE jobs (
    id              TEXT    NOT NULL PRIMARY KEY,
    tenant_id       TEXT    NOT NULL,
    run_id          TEXT    REFERENCES runs (id),
    name            TEXT    NOT NULL,
    job_key         TEXT,
    state           TEXT    NOT NULL
        CHECK (state = 'PENDING' OR state = 'RUNNING' OR state = 'SUCCEEDED' OR state = 'FAILED'
            OR state = 'CANCELED'),
    required        INTEGER NOT NULL,
    effect_once     INTEGER NOT NULL,
    priority        INTEGER NOT NULL,
    queue_id        INTEGER NOT NULL,
    attempts        INTEGER NOT NULL CHECK (attempts BETWEEN 1 AND attempts_max),
    attempts_max    INTEGER NOT NULL,
    retry_on        TEXT    NOT NULL, -- failure classes, joined by commas
    timeout_micros  INTEGER NOT NULL,
    tokens          INTEGER NOT NULL,
    needs_open      INTEGER NOT NULL CHECK (needs_open >= 0),
    has_dependents  INTEGER NOT NULL,
    counted_failed  INTEGER NOT NULL,
    releasing       INTEGER NOT NULL,
    released_to     TEXT,
    spec_digest     BLOB    NOT NULL,
    input_key       BLOB    CHECK (length(input_key) = 32),
    reusable        INTEGER NOT NULL
        CHECK (NOT reusable OR (state = 'SUCCEEDED' AND run_id IS NOT NULL AND input_key IS NOT NULL)),
    free_at         INTEGER, -- until then, a runner whose lease was taken away may not have heard of it
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    -- A queue of the same tenant, which has to be there.
    FOREIGN KEY (queue_id, tenant_id) REFERENCES queues (id, tenant_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX jobs_key ON jobs (tenant_id, job_key) WHERE job_key IS NOT NULL;
CREATE INDEX jobs_run ON jobs (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX jobs_releasing ON jobs (id) WHERE releasing;
-- A flag instead of the state: most steps of a job then touch no index.
CREATE INDEX jobs_reusable ON jobs (tenant_id, input_key, id) WHERE reusable;

CREATE TABLE job_specs (
    job_id  TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id),
    spec    TEXT NOT NULL -- JSON, as the runner gets it
) STRICT, WITHOUT ROWID;

CREATE TABLE job_needs (
    needed_id    TEXT NOT NULL REFERENCES jobs (id),
    dependent_id TEXT NOT NULL REFERENCES jobs (id),
    PRIMARY KEY (needed_id, dependent_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
    job_id         TEXT    NOT NULL REFERENCES jobs (id),
    attempt        INTEGER NOT NULL CHECK (attempt >= 1),
    state          TEXT    NOT NULL
        CHECK (state = 'CREATED' OR state = 'QUEUED' OR state = 'LEASED' OR state = 'STARTING' OR state = 'RUNNING'
            OR state = 'UPLOADING' OR state = 'SUCCEEDED' OR state = 'FAILED' OR state = 'CANCEL_REQUESTED'
            OR state = 'CANCELED' OR state = 'TIMED_OUT' OR state = 'STALE'),
    queue_id       INTEGER NOT NULL, -- the job's
    priority       INTEGER NOT NULL,
    since          INTEGER NOT NULL,
    lost_leases    INTEGER NOT NULL,
    exec_id        TEXT,
    failure_class  TEXT
        CHECK (failure_class IS NULL OR failure_class = 'infra' OR failure_class = 'runner_startup'
            OR failure_class = 'runner_lost' OR failure_class = 'timeout' OR failure_class = 'flaky'
            OR failure_class = 'compilation' OR failure_class = 'test' OR failure_class = 'lint'
            OR failure_class = 'failure' OR failure_class = 'ambiguous'),
    explanation    TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    finished_at    INTEGER,
    PRIMARY KEY (job_id, attempt)
) STRICT, WITHOUT ROWID;

-- The queues: exactly the attempts in QUEUED, in the order they are leased.
CREATE TABLE ready (
    queue_id  INTEGER NOT NULL,
    rank      INTEGER NOT NULL, -- the priority, negated
    since     INTEGER NOT NULL,
    job_id    TEXT    NOT NULL,
    attempt   INTEGER NOT NULL,
    PRIMARY KEY (queue_id, rank, since, job_id, attempt)
) STRICT, WITHOUT ROWID;

-- A lease is an execution. The lease's id is a secret; only its hash is here.
CREATE TABLE executions (
    id           TEXT    NOT NULL PRIMARY KEY,
    job_id       TEXT    NOT NULL,
    attempt      INTEGER NOT NULL,
    run_id       TEXT,
    token        INTEGER NOT NULL,
    runner_id    TEXT    NOT NULL,
    runner_shared INTEGER NOT NULL, -- by all tenants; otherwise the runner is one of the job's tenant
    lease_hash   BLOB    NOT NULL,
    lease_state  TEXT    NOT NULL
        CHECK (lease_state = 'GRANTED' OR lease_state = 'ACTIVE' OR lease_state = 'EXPIRED'
            OR lease_state = 'REVOKED' OR lease_state = 'COMPLETED' OR lease_state = 'CANCELED'),
    status       TEXT    NOT NULL
        CHECK (status = 'LEASED' OR status = 'IN_PROGRESS' OR status = 'COMMITTED' OR status = 'DONE'
            OR status = 'ABORTED'),
    granted_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    timeout_at   INTEGER,
    cancel_by    INTEGER,
    due_at       INTEGER,
    started_at   INTEGER,
    finished_at  INTEGER,
    commit_said  INTEGER NOT NULL CHECK (NOT commit_said OR status IN ('COMMITTED', 'DONE')),
    outcome      TEXT    CHECK (outcome IN ('SUCCEEDED', 'FAILED')),
    exit_code    INTEGER CHECK ((outcome IS NULL) = (exit_code IS NULL)),
    summary      TEXT    NOT NULL,
    artifacts    TEXT    NOT NULL, -- a JSON array, or empty
    CHECK ((finished_at IS NULL) = (lease_state = 'GRANTED' OR lease_state = 'ACTIVE')),
    FOREIGN KEY (job_id, attempt) REFERENCES attempts (job_id, attempt)
) STRICT, WITHOUT ROWID;
-- One live lease per attempt, and at most one commit per job, ever. A lease lives until it finished (the CHECK above says
-- so); asking for that instead of the state spares this index the step from GRANTED to ACTIVE.
CREATE UNIQUE INDEX executions_live ON executions (job_id, attempt) WHERE finished_at IS NULL;
CREATE UNIQUE INDEX executions_committed ON executions (job_id) WHERE status IN ('COMMITTED', 'DONE');
CREATE UNIQUE INDEX executions_token ON executions (job_id, token);
CREATE INDEX executions_due ON executions (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE effects (
    job_id    TEXT    NOT NULL REFERENCES jobs (id),
    position  INTEGER NOT NULL,
    exec_id   TEXT    NOT NULL REFERENCES executions (id),
    kind      TEXT    NOT NULL CHECK (kind IN ('result', 'webhook')),
    body      TEXT    NOT NULL, -- JSON
    PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    id            TEXT    NOT NULL PRIMARY KEY,
    tenant_id     TEXT    NOT NULL REFERENCES tenants (id),
    lane          TEXT    NOT NULL,
    turn          INTEGER NOT NULL CHECK (turn >= 0), -- its place in an ordered lane, or 0
    event         TEXT    NOT NULL,
    subject       TEXT    NOT NULL,
    url           TEXT    NOT NULL,
    body          TEXT    NOT NULL, -- JSON
    state         TEXT    NOT NULL
        CHECK (state = 'pending' OR state = 'delivering' OR state = 'delivered' OR state = 'retry_wait'
            OR state = 'dead_letter'),
    tries         INTEGER NOT NULL,
    claims        INTEGER NOT NULL,
    due_at        INTEGER,
    reports       TEXT    REFERENCES runs (id),
    last_error    TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    delivered_at  INTEGER
) STRICT, WITHOUT ROWID;
-- What waits where order does not matter, lane by lane; and what is open where it does.
CREATE INDEX deliveries_waiting ON deliveries (tenant_id, lane, due_at)
    WHERE turn = 0 AND due_at IS NOT NULL AND state <> 'delivering';
CREATE UNIQUE INDEX deliveries_turns ON deliveries (tenant_id, lane, turn) WHERE turn > 0 AND due_at IS NOT NULL;
-- Looking for claims that ran out does not walk over a backlog of messages that wait.
CREATE INDEX deliveries_claimed ON deliveries (due_at) WHERE state = 'delivering';
CREATE INDEX deliveries_open ON deliveries (id) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_dead ON deliveries (id) WHERE state = 'dead_letter';
CREATE INDEX deliveries_reports ON deliveries (reports) WHERE reports IS NOT NULL;

-- The audit log, numbered without gaps in commit order. What one save says about one root in a row is one row here: the
-- log is most of what is written, and it is written once and hardly ever read.
CREATE TABLE event_groups (
    seq      INTEGER NOT NULL PRIMARY KEY, -- the number of the group's last event
    size     INTEGER NOT NULL CHECK (size >= 1),
    at       INTEGER NOT NULL,
    root     TEXT    NOT NULL, -- what the events are filed under
    entries  TEXT    NOT NULL -- a JSON array of [machine, entity, from_state, event, to_state, cause], see the view
) STRICT;
CREATE INDEX event_groups_root ON event_groups (root);

-- The same, one event per row. An entity that is empty or begins with a slash goes on from the root, and a seventh element
-- is the owner, if that is another than most.
CREATE VIEW events AS
SELECT g.seq - g.size + 1 + e.key AS seq, g.at, e.value ->> 0 AS machine, g.root,
       iif(substr(e.value ->> 1, 1, 1) IN ('', '/'), g.root, '') || (e.value ->> 1) AS entity,
       e.value ->> 2 AS from_state, e.value ->> 3 AS event, e.value ->> 4 AS to_state,
       coalesce(e.value ->> 6, 'Orchestrator') AS owner, e.value ->> 5 AS cause
FROM event_groups AS g, json_each(g.entries) AS e;

-- Stored bytes. A row is one generation of a digest: its bytes are written once and deleted once.
CREATE TABLE blobs (
    id              TEXT    NOT NULL PRIMARY KEY,
    digest          BLOB    NOT NULL CHECK (length(digest) = 32),
    length          INTEGER NOT NULL CHECK (length >= 0),
    state           TEXT    NOT NULL
        CHECK (state = 'live' OR state = 'tombstoned' OR state = 'eligible_for_gc' OR state = 'deleted'),
    refs            INTEGER NOT NULL CHECK (refs >= 0),
    barrier_until   INTEGER NOT NULL,
    epoch           INTEGER NOT NULL,
    retention_until INTEGER,
    unmarked_by     TEXT,
    claimed_by      TEXT,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    inline          INTEGER NOT NULL DEFAULT 0, -- its bytes are in blob_bytes
    CHECK (claimed_by IS NULL OR refs = 0)
) STRICT, WITHOUT ROWID;
-- At most one of a digest can be read and referred to.
CREATE UNIQUE INDEX blobs_digest ON blobs (digest) WHERE claimed_by IS NULL AND state <> 'deleted';
CREATE INDEX blobs_unreferenced ON blobs (id) WHERE refs = 0 AND state <> 'deleted';

-- Whoever has told of a claim deletes the bytes at any moment: nothing may rely on them again.
CREATE TRIGGER blobs_claimed BEFORE UPDATE ON blobs
WHEN OLD.claimed_by IS NOT NULL AND (NEW.claimed_by IS NULL OR NEW.refs > OLD.refs)
BEGIN
    SELECT RAISE (ABORT, 'a claimed blob stays claimed');
END;
CREATE TRIGGER blobs_deleted BEFORE UPDATE ON blobs
WHEN OLD.state = 'deleted' AND (
    NEW.state <> OLD.state OR NEW.refs <> OLD.refs OR NEW.barrier_until <> OLD.barrier_until OR NEW.epoch <> OLD.epoch
    OR NEW.retention_until IS NOT OLD.retention_until OR NEW.unmarked_by IS NOT OLD.unmarked_by
    OR NEW.claimed_by IS NOT OLD.claimed_by OR NEW.updated_at <> OLD.updated_at)
BEGIN
    SELECT RAISE (ABORT, 'a deleted blob does not change');
END;
CREATE TRIGGER blobs_bytes BEFORE UPDATE OF id, digest, length, created_at, inline ON blobs
WHEN NEW.id <> OLD.id OR NEW.digest <> OLD.digest OR NEW.length <> OLD.length OR NEW.created_at <> OLD.created_at
    OR NEW.inline <> OLD.inline
BEGIN
    SELECT RAISE (ABORT, 'the bytes of a blob do not change');
END;
CREATE TRIGGER blobs_kept BEFORE DELETE ON blobs
BEGIN
    SELECT RAISE (ABORT, 'the record of a blob is kept');
END;

-- The bytes of small blobs. With a rowid: they would make the tree of a key too wide.
CREATE TABLE blob_bytes (
    blob_id  TEXT NOT NULL PRIMARY KEY REFERENCES blobs (id),
    bytes    BLOB NOT NULL
) STRICT;
CREATE TRIGGER blob_bytes_fixed BEFORE UPDATE ON blob_bytes
BEGIN
    SELECT RAISE (ABORT, 'the bytes of a blob do not change');
END;
CREATE TRIGGER blob_bytes_kept BEFORE DELETE ON blob_bytes
WHEN (SELECT state FROM blobs WHERE id = OLD.blob_id) <> 'deleted'
BEGIN
    SELECT RAISE (ABORT, 'the bytes of a blob go when it is deleted');
END;

-- Whose bytes: a tenant has what it brought itself.
CREATE TABLE possessions (
    tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
    digest      BLOB    NOT NULL CHECK (length(digest) = 32),
    blob_id     TEXT    NOT NULL REFERENCES blobs (id),
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX possessions_blob ON possessions (blob_id);

CREATE TABLE usages (
    tenant_id  TEXT    NOT NULL PRIMARY KEY REFERENCES tenants (id),
    bytes      INTEGER NOT NULL CHECK (bytes >= 0),
    blobs      INTEGER NOT NULL CHECK (blobs >= 0)
) STRICT, WITHOUT ROWID;

-- The journal of bytes on their way: it names every key that may hold some.
CREATE TABLE uploads (
    id              TEXT    NOT NULL PRIMARY KEY,
    tenant_id       TEXT    NOT NULL REFERENCES tenants (id),
    digest          BLOB    NOT NULL CHECK (length(digest) = 32),
    length          INTEGER NOT NULL CHECK (length >= 0),
    blob_id         TEXT    NOT NULL, -- to be made, so it may never come to be
    state           TEXT    NOT NULL
        CHECK (state = 'initiated' OR state = 'parts_uploading' OR state = 'pending_commit' OR state = 'committed'
            OR state = 'aborted'),
    parts           TEXT    NOT NULL, -- a JSON array of lengths
    etags           TEXT    NOT NULL, -- a JSON array
    multipart       TEXT,
    measured_digest BLOB    CHECK (length(measured_digest) = 32),
    measured_length INTEGER CHECK ((measured_length IS NULL) = (measured_digest IS NULL)),
    got             TEXT,
    exec_id         TEXT,
    expires_at      INTEGER NOT NULL,
    litter          INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_expiring ON uploads (expires_at) WHERE state <> 'committed' AND state <> 'aborted';
CREATE INDEX uploads_litter ON uploads (id) WHERE litter;

CREATE TABLE versions (
    id              TEXT    NOT NULL PRIMARY KEY,
    tenant_id       TEXT    NOT NULL REFERENCES tenants (id),
    package         TEXT    NOT NULL,
    version         TEXT    NOT NULL,
    state           TEXT    NOT NULL CHECK (state = 'draft' OR state = 'published' OR state = 'tombstoned'),
    quarantine      TEXT,
    content_hash    BLOB    CHECK (length(content_hash) = 32),
    exec_id         TEXT,
    retention_until INTEGER,
    purged          INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    published_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX versions_name ON versions (tenant_id, package, version);
CREATE INDEX versions_tenant ON versions (tenant_id, id);
CREATE INDEX versions_package ON versions (tenant_id, package, id);
CREATE INDEX versions_retained ON versions (retention_until) WHERE state = 'tombstoned' AND NOT purged;

CREATE TABLE version_entries (
    version_id  TEXT    NOT NULL REFERENCES versions (id),
    path        TEXT    NOT NULL,
    digest      BLOB    NOT NULL CHECK (length(digest) = 32),
    length      INTEGER NOT NULL CHECK (length >= 0),
    blob_id     TEXT    NOT NULL REFERENCES blobs (id),
    PRIMARY KEY (version_id, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX version_entries_blob ON version_entries (blob_id);

-- What was published stays as it was published: its name, its entries and their hash.
CREATE TRIGGER versions_published BEFORE UPDATE ON versions
WHEN OLD.state <> 'draft' AND (
    NEW.state = 'draft' OR NEW.id <> OLD.id OR NEW.tenant_id <> OLD.tenant_id OR NEW.package <> OLD.package
    OR NEW.version <> OLD.version OR NEW.content_hash IS NOT OLD.content_hash
    OR NEW.published_at IS NOT OLD.published_at)
BEGIN
    SELECT RAISE (ABORT, 'a published version does not change');
END;
CREATE TRIGGER versions_kept BEFORE DELETE ON versions WHEN OLD.state <> 'draft'
BEGIN
    SELECT RAISE (ABORT, 'a published version is kept');
END;
CREATE TRIGGER version_entries_inserted BEFORE INSERT ON version_entries
WHEN (SELECT state FROM versions WHERE id = NEW.version_id) <> 'draft'
BEGIN
    SELECT RAISE (ABORT, 'the entries of a published version do not change');
END;
CREATE TRIGGER version_entries_updated BEFORE UPDATE ON version_entries
WHEN (SELECT state FROM versions WHERE id = OLD.version_id) <> 'draft'
    OR (SELECT state FROM versions WHERE id = NEW.version_id) <> 'draft'
BEGIN
    SELECT RAISE (ABORT, 'the entries of a published version do not change');
END;
CREATE TRIGGER version_entries_deleted BEFORE DELETE ON version_entries
WHEN (SELECT state FROM versions WHERE id = OLD.version_id) <> 'draft'
BEGIN
    SELECT RAISE (ABORT, 'the entries of a published version do not change');
END;

-- What an execution left behind: the artifacts of the one that committed its job, or what the tests of a failure told.
CREATE TABLE bundles (
    exec_id     TEXT    NOT NULL PRIMARY KEY REFERENCES executions (id),
    job_id      TEXT    NOT NULL REFERENCES jobs (id),
    tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
    tests       TEXT, -- JSON
    keep_until  INTEGER,
    dropped     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX bundles_job ON bundles (job_id, created_at);
CREATE INDEX bundles_kept ON bundles (keep_until) WHERE NOT dropped AND keep_until IS NOT NULL;

CREATE TABLE bundle_artifacts (
    exec_id   TEXT    NOT NULL REFERENCES bundles (exec_id),
    position  INTEGER NOT NULL,
    kind      TEXT    NOT NULL,
    path      TEXT    NOT NULL,
    digest    BLOB    NOT NULL CHECK (length(digest) = 32),
    length    INTEGER NOT NULL CHECK (length >= 0),
    blob_id   TEXT    NOT NULL REFERENCES blobs (id),
    PRIMARY KEY (exec_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX bundle_artifacts_blob ON bundle_artifacts (blob_id);

-- Files that jobs left for later ones. A name that was dropped is there for the next that saves under it.
CREATE TABLE caches (
    tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
    trust       TEXT    NOT NULL CHECK (trust = 'trusted' OR trust = 'untrusted'),
    key         TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    blob_id     TEXT    NOT NULL REFERENCES blobs (id),
    digest      BLOB    NOT NULL CHECK (length(digest) = 32),
    bytes       INTEGER NOT NULL CHECK (bytes >= 0),
    job_id      TEXT    NOT NULL REFERENCES jobs (id),
    created_at  INTEGER NOT NULL,
    used_at     INTEGER NOT NULL,
    dropped     INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, trust, key)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX caches_id ON caches (tenant_id, id) WHERE NOT dropped;
CREATE INDEX caches_used ON caches (used_at) WHERE NOT dropped;
CREATE INDEX caches_kept ON caches (tenant_id, used_at, bytes) WHERE NOT dropped;
CREATE INDEX caches_blob ON caches (blob_id);

-- What a job printed under one lease: its first bytes and its last ones, as chunks until it is whole, then as a blob.
CREATE TABLE logs (
    exec_id    TEXT    NOT NULL PRIMARY KEY REFERENCES executions (id),
    received   INTEGER NOT NULL,
    head       INTEGER NOT NULL CHECK (head >= 0),
    tail_from  INTEGER NOT NULL CHECK (tail_from BETWEEN head AND received),
    blob_id    TEXT    REFERENCES blobs (id)
) STRICT, WITHOUT ROWID;
-- Those whose bytes are chunks still: not more than what runs and what has just ended.
CREATE INDEX logs_in_chunks ON logs (exec_id) WHERE blob_id IS NULL;
CREATE INDEX logs_blob ON logs (blob_id) WHERE blob_id IS NOT NULL;

-- With a rowid: bytes would make the tree of a key too wide.
CREATE TABLE log_chunks (
    exec_id   TEXT    NOT NULL REFERENCES logs (exec_id),
    "offset"  INTEGER NOT NULL CHECK ("offset" >= 0),
    bytes     BLOB    NOT NULL CHECK (length(bytes) > 0),
    PRIMARY KEY (exec_id, "offset")
) STRICT;

-- Runs of the collector, one at a time.
CREATE TABLE collections (
    id                TEXT    NOT NULL PRIMARY KEY,
    state             TEXT    NOT NULL CHECK (state = 'running' OR state = 'done' OR state = 'failed'),
    epoch             INTEGER NOT NULL,
    holder            INTEGER NOT NULL, -- the bits of an unsigned number
    held_until        INTEGER NOT NULL,
    marked            INTEGER NOT NULL,
    kept              INTEGER NOT NULL,
    deleted           INTEGER NOT NULL,
    bytes             INTEGER NOT NULL,
    message           TEXT    NOT NULL,
    started_at        INTEGER NOT NULL,
    mark_completed_at INTEGER,
    finished_at       INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX collections_running ON collections (state) WHERE state = 'running';

CREATE TABLE collector (
    one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    epoch    INTEGER NOT NULL,
    running  TEXT
) STRICT;

-- Secrets of the server itself, made once and shared by all who open the database.
CREATE TABLE keys (
    name    TEXT NOT NULL PRIMARY KEY,
    secret  BLOB NOT NULL CHECK (length(secret) = 32)
) STRICT, WITHOUT ROWID;

-- Where the time of whoever was at work on this file stood against the machine's uptime. On PostgreSQL the database's
-- clock is everybody's.
CREATE TABLE clock (
    one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    boot   TEXT    NOT NULL, -- the machine's name for its start
    epoch  INTEGER NOT NULL, -- our time when the uptime was nothing
    leases_end_after INTEGER -- before this, no tick ends one
) STRICT;
