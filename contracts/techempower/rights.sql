-- What a server's role may do in its database: what the statements of the contract need, and no more.
-- The lab owns the tables and applies this file to the template, with `fairground_rights` as the role that holds the rights.

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
REVOKE USAGE ON LANGUAGE plpgsql, sql FROM PUBLIC;    -- no DO blocks: one of them commits as often as it likes
REVOKE EXECUTE ON FUNCTION pg_current_xact_id(), txid_current() FROM PUBLIC;    -- a number is for what writes
GRANT USAGE ON SCHEMA public TO fairground_rights;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO fairground_rights;
GRANT UPDATE ON world, "World" TO fairground_rights;
