-- What a server's role may do in its database: what the statements of the contract need, and no more.

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
REVOKE USAGE ON LANGUAGE plpgsql, sql FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pg_current_xact_id(), txid_current() FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO fairground_rights;
GRANT SELECT ON people TO fairground_rights;
GRANT SELECT, INSERT, UPDATE, DELETE ON todos TO fairground_rights;
