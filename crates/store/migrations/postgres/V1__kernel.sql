-- The kernel's tables, as in migrations/sqlite, in PostgreSQL's types.
-- The CHECK lists are the machines' states; a test compares them with the tables in crates/machines. They are written as one
-- literal: whenever a statement writes, PostgreSQL parses all of its table's checks, and IN is kept as a constant a name.
--
-- Keys are compared byte by byte (COLLATE "C"): ids sort by birth, and all servers lock rows in one order.
-- Tables whose rows change often leave half of each page free (fillfactor), so that an update which touches no indexed
-- column finds room on its page (HOT), even if a whole page of rows is changed at once; and they are vacuumed early.

-- What a save says no with, if something it rests on is not as it was when it was loaded.
CREATE FUNCTION refuse_moved(relation text, unmoved bigint, expected bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF unmoved <> expected THEN
        RAISE EXCEPTION USING ERRCODE = 'serialization_failure',
            MESSAGE = format('%s: %s of %s rows moved', relation, expected - unmoved, expected);
    END IF;
END $$;

CREATE TABLE tenants (
    id          text COLLATE "C" NOT NULL PRIMARY KEY,
    name        text COLLATE "C" NOT NULL UNIQUE,
    state       text        NOT NULL CHECK (state = ANY ('{requested,planning,provisioning,ready,updating,deleting,archived,failed}')),
    status_message text     NOT NULL,
    desired_config text     NOT NULL, -- canonical JSON
    revision    bigint      NOT NULL CHECK (revision >= 1), -- the tenant's version
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL
);

-- Who may call. A token's text is a secret; only its hash is here.
CREATE TABLE tokens (
    id          text COLLATE "C" NOT NULL PRIMARY KEY,
    kind        text        NOT NULL CHECK (kind = ANY ('{admin,tenant,runner}')),
    tenant_id   text COLLATE "C" REFERENCES tenants (id), -- null: not of one tenant
    name        text        NOT NULL,
    hash        bytea       NOT NULL,
    created_at  timestamptz NOT NULL,
    revoked_at  timestamptz,
    CHECK ((tenant_id IS NULL OR kind <> 'admin') AND (tenant_id IS NOT NULL OR kind <> 'tenant'))
);
CREATE INDEX tokens_tenant ON tokens (tenant_id, id);

CREATE TABLE webhooks (
    tenant_id   text COLLATE "C" NOT NULL REFERENCES tenants (id),
    name        text COLLATE "C" NOT NULL,
    url         text NOT NULL,
    events      text NOT NULL, -- a JSON array
    secret      text NOT NULL, -- signs the deliveries
    ordered     boolean NOT NULL,
    turns       bigint  NOT NULL CHECK (turns >= 0), -- given out so far
    removed     boolean NOT NULL,
    PRIMARY KEY (tenant_id, name)
) WITH (fillfactor = 50);

-- A queue is a tenant's set of requirements; its id is made from both.
CREATE TABLE queues (
    id          bigint NOT NULL PRIMARY KEY,
    tenant_id   text COLLATE "C" NOT NULL REFERENCES tenants (id),
    requires    text   NOT NULL, -- a JSON array
    UNIQUE (id, tenant_id)
);

CREATE TABLE runners (
    tenant_id    text COLLATE "C" NOT NULL, -- empty: shared by all tenants
    id           text COLLATE "C" NOT NULL,
    capabilities text        NOT NULL, -- a JSON array
    acks_missed  integer     NOT NULL,
    barred_until timestamptz,
    last_seen_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id)
) WITH (fillfactor = 80);

CREATE TABLE runs (
    id              text COLLATE "C" NOT NULL PRIMARY KEY,
    tenant_id       text COLLATE "C" NOT NULL REFERENCES tenants (id),
    state           text        NOT NULL CHECK (state = ANY ('{CREATED,PLANNING,PLAN_FAILED,QUEUED,RUNNING,CANCEL_REQUESTED,SUCCESS,FAILED,CANCELED,TIMEOUT,REPORTED}')),
    outcome         text        CHECK (outcome = ANY ('{SUCCESS,FAILED,CANCELED,TIMEOUT}')),
    status_message  text        NOT NULL,
    attempt         integer     NOT NULL CHECK (attempt >= 1),
    rerun_of        text COLLATE "C" REFERENCES runs (id),
    trigger_key     text COLLATE "C",
    repository      text,
    git_ref         text,
    commit_id       text,
    base            text,
    fail_fast       boolean     NOT NULL,
    trust           text        NOT NULL CHECK (trust = ANY ('{trusted,untrusted}')),
    group_name      text,
    group_id        bytea       CHECK (length(group_id) = 32 AND (group_id IS NULL) = (group_name IS NULL)),
    supersede       boolean     NOT NULL CHECK (NOT supersede OR group_id IS NOT NULL),
    jobs_total      integer     NOT NULL,
    jobs_open       integer     NOT NULL CHECK (jobs_open BETWEEN 0 AND jobs_total),
    required_failed integer     NOT NULL CHECK (required_failed >= 0),
    reports_open    integer     NOT NULL CHECK (reports_open >= 0),
    sweep           text        CHECK (sweep = ANY ('{canceled,timed_out,fail_fast}')),
    swept_to        text COLLATE "C",
    due_at          timestamptz,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    finished_at     timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
CREATE UNIQUE INDEX runs_trigger ON runs (tenant_id, trigger_key) WHERE trigger_key IS NOT NULL;
CREATE INDEX runs_tenant ON runs (tenant_id, id);
CREATE INDEX runs_planning ON runs (id) WHERE state IN ('CREATED', 'PLANNING');
CREATE INDEX runs_due ON runs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX runs_sweeping ON runs (id) WHERE sweep IS NOT NULL;
-- A run is open until it finished; asking for that instead of the state spares this index every other step.
CREATE INDEX runs_group ON runs (group_id, id) WHERE group_id IS NOT NULL AND finished_at IS NULL;

-- Where the runs of a concurrency group meet; its id is made from the tenant, the repository and the name.
CREATE TABLE run_groups (
    id          bytea  NOT NULL PRIMARY KEY CHECK (length(id) = 32),
    tenant_id   text COLLATE "C" NOT NULL REFERENCES tenants (id),
    joined      bigint NOT NULL CHECK (joined >= 1),
    newest      text COLLATE "C" -- of those that supersede; written before the run itself
);

CREATE TABLE run_plans (
    run_id  text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES runs (id),
    plan    text NOT NULL -- JSON
);

CREATE TABLE jobs (
    id              text COLLATE "C" NOT NULL PRIMARY KEY,
    tenant_id       text COLLATE "C" NOT NULL,
    run_id          text COLLATE "C" REFERENCES runs (id),
    name            text        NOT NULL,
    job_key         text COLLATE "C",
    state           text        NOT NULL CHECK (state = ANY ('{PENDING,RUNNING,SUCCEEDED,FAILED,CANCELED}')),
    required        boolean     NOT NULL,
    effect_once     boolean     NOT NULL,
    priority        integer     NOT NULL,
    queue_id        bigint      NOT NULL,
    attempts        integer     NOT NULL CHECK (attempts BETWEEN 1 AND attempts_max),
    attempts_max    integer     NOT NULL,
    retry_on        text        NOT NULL, -- failure classes, joined by commas
    timeout_micros  bigint      NOT NULL,
    tokens          integer     NOT NULL,
    needs_open      integer     NOT NULL CHECK (needs_open >= 0),
    has_dependents  boolean     NOT NULL,
    counted_failed  boolean     NOT NULL,
    releasing       boolean     NOT NULL,
    released_to     text COLLATE "C",
    spec_digest     bytea       NOT NULL,
    input_key       bytea       CHECK (length(input_key) = 32),
    reusable        boolean     NOT NULL
        CHECK (NOT reusable OR (state = 'SUCCEEDED' AND run_id IS NOT NULL AND input_key IS NOT NULL)),
    free_at         timestamptz, -- until then, a runner whose lease was taken away may not have heard of it
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    spec            text,       -- JSON, as the runner gets it; read for that alone, and never changed
    -- A queue of the same tenant, which has to be there.
    FOREIGN KEY (queue_id, tenant_id) REFERENCES queues (id, tenant_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
CREATE UNIQUE INDEX jobs_key ON jobs (tenant_id, job_key) WHERE job_key IS NOT NULL;
CREATE INDEX jobs_run ON jobs (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX jobs_releasing ON jobs (id) WHERE releasing;
-- A flag instead of the state: most steps of a job then touch no index.
CREATE INDEX jobs_reusable ON jobs (tenant_id, input_key, id) WHERE reusable;

-- As in migrations/sqlite, where it is a table.
CREATE VIEW job_specs AS SELECT id AS job_id, spec FROM jobs WHERE spec IS NOT NULL;

CREATE TABLE job_needs (
    needed_id    text COLLATE "C" NOT NULL REFERENCES jobs (id),
    dependent_id text COLLATE "C" NOT NULL REFERENCES jobs (id),
    PRIMARY KEY (needed_id, dependent_id)
);

CREATE TABLE attempts (
    job_id         text COLLATE "C" NOT NULL REFERENCES jobs (id),
    attempt        integer     NOT NULL CHECK (attempt >= 1),
    state          text        NOT NULL CHECK (state = ANY ('{CREATED,QUEUED,LEASED,STARTING,RUNNING,UPLOADING,SUCCEEDED,FAILED,CANCEL_REQUESTED,CANCELED,TIMED_OUT,STALE}')),
    queue_id       bigint      NOT NULL, -- the job's
    priority       integer     NOT NULL,
    since          timestamptz NOT NULL,
    lost_leases    integer     NOT NULL,
    exec_id        text COLLATE "C",
    failure_class  text        CHECK (failure_class = ANY ('{infra,runner_startup,runner_lost,timeout,flaky,compilation,test,lint,failure,ambiguous}')),
    explanation    text        NOT NULL,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    finished_at    timestamptz,
    PRIMARY KEY (job_id, attempt)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);

-- The queues: exactly the attempts in QUEUED, in the order they are leased. Rows come and go, so the dead ones at a
-- queue's head are cleared away early and without pauses: every lease would walk over them.
CREATE TABLE ready (
    queue_id  bigint      NOT NULL,
    rank      bigint      NOT NULL, -- the priority, negated
    since     timestamptz NOT NULL,
    job_id    text COLLATE "C" NOT NULL,
    attempt   integer     NOT NULL,
    PRIMARY KEY (queue_id, rank, since, job_id, attempt)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);

-- A lease is an execution. The lease's id is a secret; only its hash is here.
CREATE TABLE executions (
    id           text COLLATE "C" NOT NULL PRIMARY KEY,
    job_id       text COLLATE "C" NOT NULL,
    attempt      integer     NOT NULL,
    run_id       text COLLATE "C",
    token        integer     NOT NULL,
    runner_id    text COLLATE "C" NOT NULL,
    runner_shared boolean    NOT NULL, -- by all tenants; otherwise the runner is one of the job's tenant
    lease_hash   bytea       NOT NULL,
    lease_state  text        NOT NULL CHECK (lease_state = ANY ('{GRANTED,ACTIVE,EXPIRED,REVOKED,COMPLETED,CANCELED}')),
    status       text        NOT NULL CHECK (status = ANY ('{LEASED,IN_PROGRESS,COMMITTED,DONE,ABORTED}')),
    granted_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    timeout_at   timestamptz,
    cancel_by    timestamptz,
    due_at       timestamptz,
    started_at   timestamptz,
    finished_at  timestamptz,
    commit_said  boolean     NOT NULL CHECK (NOT commit_said OR status IN ('COMMITTED', 'DONE')),
    outcome      text        CHECK (outcome = ANY ('{SUCCEEDED,FAILED}')),
    exit_code    integer     CHECK ((outcome IS NULL) = (exit_code IS NULL)),
    summary      text        NOT NULL,
    artifacts    text        NOT NULL, -- a JSON array, or empty
    -- For the index below: one on `status` itself would end HOT at every step between two states.
    has_committed boolean    NOT NULL GENERATED ALWAYS AS (status IN ('COMMITTED', 'DONE')) STORED,
    CHECK ((finished_at IS NULL) = (lease_state = ANY ('{GRANTED,ACTIVE}'))),
    FOREIGN KEY (job_id, attempt) REFERENCES attempts (job_id, attempt)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
-- One live lease per attempt, and at most one commit per job, ever. A lease lives until it finished: the CHECK above says
-- so, and the step from GRANTED to ACTIVE leaves this index alone.
CREATE UNIQUE INDEX executions_live ON executions (job_id, attempt) WHERE finished_at IS NULL;
CREATE UNIQUE INDEX executions_committed ON executions (job_id) WHERE has_committed;
CREATE UNIQUE INDEX executions_token ON executions (job_id, token);
CREATE INDEX executions_due ON executions (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE effects (
    job_id    text COLLATE "C" NOT NULL REFERENCES jobs (id),
    position  integer NOT NULL,
    exec_id   text COLLATE "C" NOT NULL REFERENCES executions (id),
    kind      text    NOT NULL CHECK (kind = ANY ('{result,webhook}')),
    body      text    NOT NULL, -- JSON
    PRIMARY KEY (job_id, position)
);

CREATE TABLE deliveries (
    id            text COLLATE "C" NOT NULL PRIMARY KEY,
    tenant_id     text COLLATE "C" NOT NULL REFERENCES tenants (id),
    lane          text COLLATE "C" NOT NULL,
    turn          bigint      NOT NULL CHECK (turn >= 0), -- its place in an ordered lane, or 0
    event         text        NOT NULL,
    subject       text        NOT NULL,
    url           text        NOT NULL,
    body          text        NOT NULL, -- JSON
    state         text        NOT NULL CHECK (state = ANY ('{pending,delivering,delivered,retry_wait,dead_letter}')),
    tries         integer     NOT NULL,
    claims        integer     NOT NULL,
    due_at        timestamptz,
    reports       text COLLATE "C" REFERENCES runs (id),
    last_error    text        NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    delivered_at  timestamptz
) WITH (fillfactor = 80);
-- What waits where order does not matter, lane by lane; and what is open where it does.
CREATE INDEX deliveries_waiting ON deliveries (tenant_id, lane, due_at, id)
    WHERE turn = 0 AND due_at IS NOT NULL AND state <> 'delivering';
CREATE UNIQUE INDEX deliveries_turns ON deliveries (tenant_id, lane, turn) WHERE turn > 0 AND due_at IS NOT NULL;
CREATE INDEX deliveries_open ON deliveries (id) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_dead ON deliveries (id) WHERE state = 'dead_letter';
-- Looking for claims that ran out does not walk over a backlog of messages that wait.
CREATE INDEX deliveries_claimed ON deliveries (due_at) WHERE state = 'delivering';
CREATE INDEX deliveries_reports ON deliveries (reports) WHERE reports IS NOT NULL;

-- The audit log, numbered without gaps in commit order. What one save says about one root in a row is one row here: the
-- log is most of what is written, and it is written once and hardly ever read.
CREATE TABLE event_groups (
    seq      bigint      NOT NULL PRIMARY KEY, -- the number of the group's last event
    size     integer     NOT NULL CHECK (size >= 1),
    at       timestamptz NOT NULL,
    root     text COLLATE "C" NOT NULL, -- what the events are filed under
    entries  text        NOT NULL -- a JSON array of [machine, entity, from_state, event, to_state, cause], see the view
);
CREATE INDEX event_groups_root ON event_groups (root);

-- The same, one event per row. An entity that is empty or begins with a slash goes on from the root, and a seventh element
-- is the owner, if that is another than most.
CREATE VIEW events AS
SELECT seq - size + place AS seq, at, entry ->> 0 AS machine, root,
       (CASE WHEN left(entry ->> 1, 1) IN ('', '/') THEN root ELSE '' END || (entry ->> 1)) COLLATE "C" AS entity,
       entry ->> 2 AS from_state, entry ->> 3 AS event, entry ->> 4 AS to_state,
       coalesce(entry ->> 6, 'Orchestrator') AS owner, entry ->> 5 AS cause
FROM event_groups CROSS JOIN LATERAL jsonb_array_elements(entries::jsonb) WITH ORDINALITY AS u (entry, place);

-- The number of the last event, and of saves so far. Every save moves this row, as the last thing before its commit, and
-- keeps it until then: numbers become visible in order, and who finds `saves` unchanged knows that nobody has written.
CREATE TABLE event_head (
    one    boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (one),
    seq    bigint  NOT NULL,
    saves  bigint  NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
INSERT INTO event_head (seq, saves) VALUES (0, 0);

-- Stored bytes. A row is one generation of a digest: its bytes are written once and deleted once.
CREATE TABLE blobs (
    id              text COLLATE "C" NOT NULL PRIMARY KEY,
    digest          bytea       NOT NULL CHECK (octet_length(digest) = 32),
    length          bigint      NOT NULL CHECK (length >= 0),
    state           text        NOT NULL CHECK (state = ANY ('{live,tombstoned,eligible_for_gc,deleted}')),
    refs            bigint      NOT NULL CHECK (refs >= 0),
    barrier_until   timestamptz NOT NULL,
    epoch           bigint      NOT NULL,
    retention_until timestamptz,
    unmarked_by     text COLLATE "C",
    claimed_by      text COLLATE "C",
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    inline          boolean     NOT NULL DEFAULT false, -- its bytes are in blob_bytes
    CHECK (claimed_by IS NULL OR refs = 0)
) WITH (fillfactor = 80);
-- At most one of a digest can be read and referred to.
CREATE UNIQUE INDEX blobs_digest ON blobs (digest) WHERE claimed_by IS NULL AND state <> 'deleted';
CREATE INDEX blobs_unreferenced ON blobs (id) WHERE refs = 0 AND state <> 'deleted';

-- What the triggers below say no with; the message is their argument.
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE = TG_ARGV[0], CONSTRAINT = TG_NAME;
END $$;

-- Whoever has told of a claim deletes the bytes at any moment: nothing may rely on them again.
CREATE TRIGGER blobs_claimed BEFORE UPDATE ON blobs FOR EACH ROW
WHEN (OLD.claimed_by IS NOT NULL AND (NEW.claimed_by IS NULL OR NEW.refs > OLD.refs))
EXECUTE FUNCTION refuse('a claimed blob stays claimed');
CREATE TRIGGER blobs_deleted BEFORE UPDATE ON blobs FOR EACH ROW
WHEN (OLD.state = 'deleted' AND OLD.* IS DISTINCT FROM NEW.*)
EXECUTE FUNCTION refuse('a deleted blob does not change');
CREATE TRIGGER blobs_bytes BEFORE UPDATE OF id, digest, length, created_at, inline ON blobs FOR EACH ROW
WHEN (NEW.id <> OLD.id OR NEW.digest <> OLD.digest OR NEW.length <> OLD.length OR NEW.created_at <> OLD.created_at
    OR NEW.inline <> OLD.inline)
EXECUTE FUNCTION refuse('the bytes of a blob do not change');
CREATE TRIGGER blobs_kept BEFORE DELETE ON blobs FOR EACH ROW
EXECUTE FUNCTION refuse('the record of a blob is kept');

-- The bytes of small blobs. They are not compressed: most of them are already.
CREATE TABLE blob_bytes (
    blob_id  text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES blobs (id),
    bytes    bytea NOT NULL
);
ALTER TABLE blob_bytes ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TRIGGER blob_bytes_fixed BEFORE UPDATE ON blob_bytes FOR EACH ROW
EXECUTE FUNCTION refuse('the bytes of a blob do not change');
CREATE FUNCTION refuse_unless_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM blobs WHERE id = OLD.blob_id AND state = 'deleted') THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE = TG_ARGV[0], CONSTRAINT = TG_NAME;
END $$;
CREATE TRIGGER blob_bytes_kept BEFORE DELETE ON blob_bytes FOR EACH ROW
EXECUTE FUNCTION refuse_unless_deleted('the bytes of a blob go when it is deleted');

-- Whose bytes: a tenant has what it brought itself.
CREATE TABLE possessions (
    tenant_id   text COLLATE "C" NOT NULL REFERENCES tenants (id),
    digest      bytea       NOT NULL CHECK (octet_length(digest) = 32),
    blob_id     text COLLATE "C" NOT NULL REFERENCES blobs (id),
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, digest)
);
CREATE INDEX possessions_blob ON possessions (blob_id);

-- A row that changes with every upload.
CREATE TABLE usages (
    tenant_id  text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES tenants (id),
    bytes      bigint NOT NULL CHECK (bytes >= 0),
    blobs      bigint NOT NULL CHECK (blobs >= 0)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- The journal of bytes on their way: it names every key that may hold some.
CREATE TABLE uploads (
    id              text COLLATE "C" NOT NULL PRIMARY KEY,
    tenant_id       text COLLATE "C" NOT NULL REFERENCES tenants (id),
    digest          bytea       NOT NULL CHECK (octet_length(digest) = 32),
    length          bigint      NOT NULL CHECK (length >= 0),
    blob_id         text COLLATE "C" NOT NULL, -- to be made, so it may never come to be
    state           text        NOT NULL CHECK (state = ANY ('{initiated,parts_uploading,pending_commit,committed,aborted}')),
    parts           text        NOT NULL, -- a JSON array of lengths
    etags           text        NOT NULL, -- a JSON array
    multipart       text,
    measured_digest bytea       CHECK (octet_length(measured_digest) = 32),
    measured_length bigint      CHECK ((measured_length IS NULL) = (measured_digest IS NULL)),
    got             text COLLATE "C",
    exec_id         text COLLATE "C",
    expires_at      timestamptz NOT NULL,
    litter          boolean     NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    -- For the index below: one on `state` itself would end HOT at every step between two states.
    is_open         boolean     NOT NULL GENERATED ALWAYS AS (state NOT IN ('committed', 'aborted')) STORED
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
CREATE INDEX uploads_expiring ON uploads (expires_at) WHERE is_open;
CREATE INDEX uploads_litter ON uploads (id) WHERE litter;

CREATE TABLE versions (
    id              text COLLATE "C" NOT NULL PRIMARY KEY,
    tenant_id       text COLLATE "C" NOT NULL REFERENCES tenants (id),
    package         text COLLATE "C" NOT NULL,
    version         text COLLATE "C" NOT NULL,
    state           text        NOT NULL CHECK (state = ANY ('{draft,published,tombstoned}')),
    quarantine      text,
    content_hash    bytea       CHECK (octet_length(content_hash) = 32),
    exec_id         text COLLATE "C",
    retention_until timestamptz,
    purged          boolean     NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    published_at    timestamptz
);
CREATE UNIQUE INDEX versions_name ON versions (tenant_id, package, version);
CREATE INDEX versions_tenant ON versions (tenant_id, id);
CREATE INDEX versions_package ON versions (tenant_id, package, id);
CREATE INDEX versions_retained ON versions (retention_until) WHERE state = 'tombstoned' AND NOT purged;

CREATE TABLE version_entries (
    version_id  text COLLATE "C" NOT NULL REFERENCES versions (id),
    path        text COLLATE "C" NOT NULL,
    digest      bytea  NOT NULL CHECK (octet_length(digest) = 32),
    length      bigint NOT NULL CHECK (length >= 0),
    blob_id     text COLLATE "C" NOT NULL REFERENCES blobs (id),
    PRIMARY KEY (version_id, path)
);
CREATE INDEX version_entries_blob ON version_entries (blob_id);

-- What was published stays as it was published: its name, its entries and their hash.
CREATE TRIGGER versions_published BEFORE UPDATE ON versions FOR EACH ROW
WHEN (OLD.state <> 'draft' AND (
    NEW.state = 'draft' OR NEW.id <> OLD.id OR NEW.tenant_id <> OLD.tenant_id OR NEW.package <> OLD.package
    OR NEW.version <> OLD.version OR NEW.content_hash IS DISTINCT FROM OLD.content_hash
    OR NEW.published_at IS DISTINCT FROM OLD.published_at))
EXECUTE FUNCTION refuse('a published version does not change');
CREATE TRIGGER versions_kept BEFORE DELETE ON versions FOR EACH ROW WHEN (OLD.state <> 'draft')
EXECUTE FUNCTION refuse('a published version is kept');

-- Once per statement, however many entries. The version is locked as well as looked at: nobody publishes it meanwhile.
CREATE FUNCTION refuse_entries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    whose text[];
BEGIN
    IF TG_OP <> 'INSERT' THEN
        whose := ARRAY (SELECT DISTINCT version_id FROM entries_before);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        whose := whose || ARRAY (SELECT DISTINCT version_id FROM entries_after);
    END IF;
    PERFORM FROM (SELECT state FROM versions WHERE id = ANY (whose) ORDER BY id FOR SHARE) v WHERE state <> 'draft';
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME,
            MESSAGE = 'the entries of a published version do not change';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER version_entries_inserted AFTER INSERT ON version_entries
REFERENCING NEW TABLE AS entries_after FOR EACH STATEMENT EXECUTE FUNCTION refuse_entries();
CREATE TRIGGER version_entries_updated AFTER UPDATE ON version_entries
REFERENCING OLD TABLE AS entries_before NEW TABLE AS entries_after FOR EACH STATEMENT EXECUTE FUNCTION refuse_entries();
CREATE TRIGGER version_entries_deleted AFTER DELETE ON version_entries
REFERENCING OLD TABLE AS entries_before FOR EACH STATEMENT EXECUTE FUNCTION refuse_entries();

-- What an execution left behind: the artifacts of the one that committed its job, or what the tests of a failure told.
CREATE TABLE bundles (
    exec_id     text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES executions (id),
    job_id      text COLLATE "C" NOT NULL REFERENCES jobs (id),
    tenant_id   text COLLATE "C" NOT NULL REFERENCES tenants (id),
    tests       text, -- JSON
    keep_until  timestamptz,
    dropped     boolean     NOT NULL,
    created_at  timestamptz NOT NULL
);
CREATE INDEX bundles_job ON bundles (job_id, created_at);
CREATE INDEX bundles_kept ON bundles (keep_until) WHERE NOT dropped AND keep_until IS NOT NULL;

CREATE TABLE bundle_artifacts (
    exec_id   text COLLATE "C" NOT NULL REFERENCES bundles (exec_id),
    position  integer NOT NULL,
    kind      text    NOT NULL,
    path      text    NOT NULL,
    digest    bytea   NOT NULL CHECK (octet_length(digest) = 32),
    length    bigint  NOT NULL CHECK (length >= 0),
    blob_id   text COLLATE "C" NOT NULL REFERENCES blobs (id),
    PRIMARY KEY (exec_id, position)
);
CREATE INDEX bundle_artifacts_blob ON bundle_artifacts (blob_id);

-- Files that jobs left for later ones. A name that was dropped is there for the next that saves under it.
CREATE TABLE caches (
    tenant_id   text COLLATE "C" NOT NULL REFERENCES tenants (id),
    trust       text COLLATE "C" NOT NULL CHECK (trust = ANY ('{trusted,untrusted}')),
    key         text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    blob_id     text COLLATE "C" NOT NULL REFERENCES blobs (id),
    digest      bytea       NOT NULL CHECK (octet_length(digest) = 32),
    bytes       bigint      NOT NULL CHECK (bytes >= 0),
    job_id      text COLLATE "C" NOT NULL REFERENCES jobs (id),
    created_at  timestamptz NOT NULL,
    used_at     timestamptz NOT NULL,
    dropped     boolean     NOT NULL,
    PRIMARY KEY (tenant_id, trust, key)
);
CREATE UNIQUE INDEX caches_id ON caches (tenant_id, id) WHERE NOT dropped;
CREATE INDEX caches_used ON caches (used_at) WHERE NOT dropped;
CREATE INDEX caches_kept ON caches (tenant_id, used_at) INCLUDE (bytes) WHERE NOT dropped;
CREATE INDEX caches_blob ON caches (blob_id);

-- What a job printed under one lease: its first bytes and its last ones, as chunks until it is whole, then as a blob. The row changes with every message.
CREATE TABLE logs (
    exec_id    text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES executions (id),
    received   bigint NOT NULL,
    head       bigint NOT NULL CHECK (head >= 0),
    tail_from  bigint NOT NULL CHECK (tail_from BETWEEN head AND received),
    blob_id    text COLLATE "C" REFERENCES blobs (id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
-- Those whose bytes are chunks still: not more than what runs and what has just ended.
CREATE INDEX logs_in_chunks ON logs (exec_id) WHERE blob_id IS NULL;
CREATE INDEX logs_blob ON logs (blob_id) WHERE blob_id IS NOT NULL;

CREATE TABLE log_chunks (
    exec_id   text COLLATE "C" NOT NULL REFERENCES logs (exec_id),
    "offset"  bigint NOT NULL CHECK ("offset" >= 0),
    bytes     bytea  NOT NULL CHECK (octet_length(bytes) > 0),
    PRIMARY KEY (exec_id, "offset")
);

-- Runs of the collector, one at a time.
CREATE TABLE collections (
    id                text COLLATE "C" NOT NULL PRIMARY KEY,
    state             text        NOT NULL CHECK (state = ANY ('{running,done,failed}')),
    epoch             bigint      NOT NULL,
    holder            bigint      NOT NULL, -- the bits of an unsigned number
    held_until        timestamptz NOT NULL,
    marked            bigint      NOT NULL,
    kept              bigint      NOT NULL,
    deleted           bigint      NOT NULL,
    bytes             bigint      NOT NULL,
    message           text        NOT NULL,
    started_at        timestamptz NOT NULL,
    mark_completed_at timestamptz,
    finished_at       timestamptz
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX collections_running ON collections (state) WHERE state = 'running';

CREATE TABLE collector (
    one      boolean NOT NULL PRIMARY KEY CHECK (one),
    epoch    bigint  NOT NULL,
    running  text COLLATE "C"
) WITH (fillfactor = 10);

-- Secrets of the server itself, made once and shared by all who open the database.
CREATE TABLE keys (
    name    text  NOT NULL PRIMARY KEY,
    secret  bytea NOT NULL CHECK (length(secret) = 32)
);
