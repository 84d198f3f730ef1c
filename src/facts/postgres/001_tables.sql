-- The tables of a store. Every key begins with the site, and every table is partitioned by it: no row can be reached without
-- naming a site, a site's rows lie together, and the site is what Citus would distribute by.
CREATE TABLE site (
    site TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL,
    seq BIGINT NOT NULL,
    kb_head BIGINT NOT NULL,
    shared_revision BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE log (
    site TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('install', 'rebase', 'turn', 'close')),
    session TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    role TEXT NOT NULL,
    kb_version BIGINT NOT NULL,
    request TEXT COLLATE "C",
    ended BIGINT NOT NULL,
    applied BIGINT NOT NULL,
    record TEXT NOT NULL,
    changes TEXT NOT NULL,
    PRIMARY KEY (site, seq)
) PARTITION BY HASH (site);
CREATE UNIQUE INDEX log_of_session ON log (site, session, epoch, turn) WHERE kind = 'turn';
CREATE UNIQUE INDEX log_of_request ON log (site, session, request) WHERE request IS NOT NULL;

CREATE TABLE session (
    site TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL,
    role TEXT NOT NULL,
    kb_version BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    first_seq BIGINT NOT NULL,
    opened_at BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (site, session, epoch)
) PARTITION BY HASH (site);
CREATE INDEX session_open ON session (site) WHERE ended_at IS NULL;

-- A fact may be longer than a key of an index may be, so keys hold its digest.
CREATE TABLE session_fact (
    site TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL,
    fact TEXT COLLATE "C" NOT NULL,
    turn BIGINT NOT NULL,
    at BIGINT NOT NULL
) PARTITION BY HASH (site);
CREATE UNIQUE INDEX session_fact_key ON session_fact (site, session, epoch, md5(fact));

CREATE TABLE shared_fact (
    site TEXT COLLATE "C" NOT NULL,
    fact TEXT COLLATE "C" NOT NULL,
    role TEXT NOT NULL,
    session TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    at BIGINT NOT NULL
) PARTITION BY HASH (site);
CREATE UNIQUE INDEX shared_fact_key ON shared_fact (site, md5(fact));

CREATE TABLE kb_fact (
    site TEXT COLLATE "C" NOT NULL,
    fact TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT,
    role TEXT NOT NULL,
    session TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    at BIGINT NOT NULL
) PARTITION BY HASH (site);
CREATE UNIQUE INDEX kb_fact_key ON kb_fact (site, md5(fact), since);
CREATE INDEX kb_fact_of_fact ON kb_fact USING hash (fact);

CREATE TABLE kb_staged (
    site TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    i BIGINT NOT NULL,
    ready BIGINT,
    change TEXT NOT NULL,
    role TEXT NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (site, seq, i)
) PARTITION BY HASH (site);

DO $$
DECLARE
    parent TEXT;
BEGIN
    FOREACH parent IN ARRAY ARRAY['log', 'session', 'session_fact', 'shared_fact', 'kb_fact', 'kb_staged'] LOOP
        FOR part IN 0..7 LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 8, REMAINDER %s)', parent || '_' || part, parent, part);
        END LOOP;
    END LOOP;
END $$;

-- Who listens is told when a site's shared facts or its kb moved, whichever node moved them.
CREATE FUNCTION tell_moved() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('duologue_' || TG_TABLE_SCHEMA, NEW.kb_head || ' ' || NEW.shared_revision || ' ' || NEW.site);
    RETURN NULL;
END $$;
CREATE TRIGGER moved AFTER UPDATE ON site FOR EACH ROW
    WHEN (OLD.kb_head <> NEW.kb_head OR OLD.shared_revision <> NEW.shared_revision) EXECUTE FUNCTION tell_moved();

-- Takes an ordinary turn in one round trip: one that changes no kb, at a site where nothing collected waits to be looked at.
-- It writes only if everything holds that the turn was decided on; else it answers with no row, and the program looks closer.
-- A parameter that is NULL was not read. INVARIANT: what this writes is what the program would write, statement by statement.
CREATE FUNCTION take_turn(
    the_site TEXT, the_session TEXT, the_epoch BIGINT, the_turn BIGINT, the_role TEXT, the_version BIGINT, the_request TEXT, the_time BIGINT,
    ends BOOLEAN, read_shared BIGINT, read_head BIGINT, read_others BOOLEAN, nothing_collected BOOLEAN, the_record TEXT, the_changes TEXT,
    session_add TEXT[], session_del TEXT[], shared_add TEXT[], shared_del TEXT[]
) RETURNS TABLE (new_seq BIGINT, head BIGINT, revision BIGINT) LANGUAGE plpgsql AS $$
DECLARE
    here RECORD;
    latest RECORD;
    is_open BOOLEAN;
    moved BIGINT := 0;
    n BIGINT;
BEGIN
    SELECT s.seq, s.kb_head, s.shared_revision INTO here FROM site s WHERE s.site = the_site FOR UPDATE;
    IF NOT FOUND OR here.shared_revision <> read_shared OR here.kb_head <> read_head THEN RETURN; END IF;
    IF the_request IS NOT NULL AND EXISTS (SELECT FROM log l WHERE l.site = the_site AND l.session = the_session AND l.request = the_request) THEN
        RETURN;
    END IF;
    SELECT s.epoch, s.role, s.turn, s.kb_version, s.ended_at INTO latest FROM session s
        WHERE s.site = the_site AND s.session = the_session ORDER BY s.epoch DESC LIMIT 1;
    is_open := FOUND AND latest.ended_at IS NULL;
    IF is_open THEN
        IF latest.role <> the_role OR latest.epoch <> the_epoch OR latest.turn + 1 <> the_turn OR latest.kb_version <> the_version THEN RETURN; END IF;
    ELSIF coalesce(latest.epoch, 0) + 1 <> the_epoch OR the_turn <> 1 OR here.kb_head <> the_version THEN
        RETURN;
    END IF;
    IF nothing_collected AND EXISTS (SELECT FROM kb_staged k WHERE k.site = the_site) THEN RETURN; END IF;
    IF read_others IS NOT NULL AND read_others <>
        EXISTS (SELECT FROM session s WHERE s.site = the_site AND s.ended_at IS NULL AND s.session <> the_session) THEN
        RETURN;
    END IF;
    IF is_open THEN
        UPDATE session s SET turn = the_turn, ended_at = CASE WHEN ends THEN the_time END
            WHERE s.site = the_site AND s.session = the_session AND s.epoch = the_epoch;
    ELSE
        INSERT INTO session VALUES (the_site, the_session, the_epoch, the_role, the_version, the_turn, here.seq + 1, the_time,
            CASE WHEN ends THEN the_time END);
    END IF;
    IF cardinality(session_del) > 0 THEN
        DELETE FROM session_fact f WHERE f.site = the_site AND f.session = the_session AND f.epoch = the_epoch AND f.fact = ANY (session_del);
    END IF;
    IF cardinality(session_add) > 0 THEN
        INSERT INTO session_fact SELECT the_site, the_session, the_epoch, f, the_turn, the_time FROM unnest(session_add) f ON CONFLICT DO NOTHING;
    END IF;
    IF cardinality(shared_del) > 0 THEN
        DELETE FROM shared_fact f WHERE f.site = the_site AND f.fact = ANY (shared_del);
        GET DIAGNOSTICS moved = ROW_COUNT;
    END IF;
    IF cardinality(shared_add) > 0 THEN
        INSERT INTO shared_fact SELECT the_site, f, the_role, the_session, the_epoch, the_turn, the_time FROM unnest(shared_add) f ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS n = ROW_COUNT;
        moved := moved + n;
    END IF;
    new_seq := here.seq + 1;
    head := here.kb_head;
    revision := here.shared_revision + CASE WHEN moved > 0 THEN 1 ELSE 0 END;
    INSERT INTO log VALUES (the_site, new_seq, the_time, 'turn', the_session, the_epoch, the_turn, the_role, the_version, the_request,
        ends::INT, 0, the_record, the_changes);
    UPDATE site s SET seq = new_seq, shared_revision = revision WHERE s.site = the_site;
    RETURN NEXT;
END $$;
