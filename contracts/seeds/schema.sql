-- The tables that every server works on, and the one function that `POST /tx` calls.
-- The lab applies this file and then seed.sql to a template database; each trial gets a fresh copy of it.

CREATE TABLE users (
    id        integer PRIMARY KEY,
    username  text NOT NULL,
    name      text NOT NULL,
    sex       text NOT NULL,
    address   text NOT NULL,
    mail      text NOT NULL,
    birthdate timestamptz NOT NULL
);

CREATE TABLE accounts (
    account_id    text PRIMARY KEY,
    name          text NOT NULL,
    email         text NOT NULL,
    plan          text NOT NULL,
    currency      text NOT NULL,
    balance_cents bigint NOT NULL,
    active        boolean NOT NULL,
    created_at    text NOT NULL,
    region        text NOT NULL,
    note          text NOT NULL
);

-- The tables of pgbench, with the same columns, types and fill factors.
CREATE TABLE pgbench_branches (
    bid integer NOT NULL, bbalance integer, filler character(88)
) WITH (fillfactor = 100);
CREATE TABLE pgbench_tellers (
    tid integer NOT NULL, bid integer, tbalance integer, filler character(84)
) WITH (fillfactor = 100);
CREATE TABLE pgbench_accounts (
    aid integer NOT NULL, bid integer, abalance integer, filler character(84)
) WITH (fillfactor = 100);
CREATE TABLE pgbench_history (
    tid integer, bid integer, aid integer, delta integer, mtime timestamp, filler character(22)
);

CREATE TABLE web_users (
    id         serial PRIMARY KEY,
    name       text NOT NULL,
    email      text NOT NULL,
    credits    integer DEFAULT 100,
    created_at timestamp DEFAULT now()
);

CREATE TABLE items (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL,
    price_cents integer NOT NULL,
    stock       integer NOT NULL,
    revision    integer NOT NULL DEFAULT 0    -- how often it was updated
);

CREATE FUNCTION pgbench_tx(p_aid bigint, p_tid bigint, p_bid bigint, p_delta integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$    -- a server may change these rows in no other way
BEGIN
    UPDATE pgbench_accounts SET abalance = abalance + p_delta WHERE aid = p_aid;
    UPDATE pgbench_tellers SET tbalance = tbalance + p_delta WHERE tid = p_tid;
    UPDATE pgbench_branches SET bbalance = bbalance + p_delta WHERE bid = p_bid;
    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime, filler)
    VALUES (p_tid, p_bid, p_aid, p_delta, now(), repeat('x', 22));
END;
$$;
