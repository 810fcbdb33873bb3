"""A contract of the tests' own, which the lab does not know by name: whole, and with any of its texts spoiled."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "contract.toml": """title = "An orchard"
default = "trees"
[numbers]
rows = 40
[paths]
trees = "/trees"
[ready]
path = "$trees"
status = 200
[environment]
PORT = "$port"
""",
    "schema.sql": """CREATE TABLE tree (id integer PRIMARY KEY, apples integer NOT NULL);
CREATE TABLE basket (id bigserial PRIMARY KEY, tree integer NOT NULL);
CREATE FUNCTION pick(one integer) RETURNS void LANGUAGE plpgsql AS $body$
BEGIN
    INSERT INTO basket (tree) VALUES (one);
END $body$;
""",
    "seed.sql": """-- each tree has as many apples as its number; this is a comment; it ends here
INSERT INTO tree SELECT i, i FROM generate_series(1, $rows) AS i;
INSERT INTO basket (tree) VALUES (1);
""",
    "rights.sql": """GRANT USAGE ON SCHEMA public TO fairground_rights;
REVOKE EXECUTE ON FUNCTION pick FROM PUBLIC;
GRANT SELECT ON tree TO fairground_rights;
GRANT EXECUTE ON FUNCTION pick TO fairground_rights;
""",
    "all.sql": """-- every tree
SELECT json_agg(json_build_object('id', id, 'apples', apples) ORDER BY id)
FROM tree
""",
    "workloads/trees.toml": """title = "Trees"
why = "It reads."
limit = '''
SELECT apples FROM tree WHERE id = 1;
'''
[request]
method = "GET"
path = "$trees?id={int:1..$rows}"
[expect]
status = 200
content_type = "application/json"
check_one_in = 1
body = { table = { by = "id", sql = "SELECT id, apples FROM tree" } }
[audit]
writes = false
commits_per_answer = 0
rows_per_answer = 0
statements = ["SELECT apples FROM tree WHERE id = $1"]
tables = { tree = { scans = 1 } }
""",
    "workloads/pick.toml": """title = "Pick"
why = "It writes."
[request]
method = "POST"
path = "/pick?tree={int:1..$rows}"
[expect]
status = 200
content_type = "application/json"
check_one_in = 1
body = { json = { ok = "boolean" } }
[audit]
writes = true
commits_per_answer = 1
rows_per_answer = 0
statements = ["SELECT pick($1)"]
functions = { pick = 1 }
[audit.written]
slot = "tree"
sql = "SELECT count(*) FROM basket WHERE tree = %s"
[[audit.invariants]]
id = "baskets"
sentence = "a row for each"
sql = "SELECT count(*) FROM basket"
equals = "before + acknowledged"
""",
    "cases/one.toml": """[disturbance]
rows = ["SELECT id FROM tree WHERE id = 1"]
[disturbance.ask]
request = "GET $trees"

[[case]]
id = "every"
title = "every tree"
workloads = ["trees"]
request = "GET $trees"
expect = { body = { json = { sql = "all.sql" } } }

[[case]]
id = "number"
title = "their number"
workloads = ["trees"]
request = "GET $trees"
expect = { body = { sql = "SELECT count(*) FROM tree" }, matches = "^[0-9]+$" }

[[case]]
id = "picked"
title = "the last that was picked"
workloads = ["pick"]
[case.database]
"SELECT count(*) FROM basket" = 1
[[case.steps]]
request = "POST /pick?tree=3"
keep = { tree = "tree" }
[[case.steps]]
request = "GET $trees"
expect = { holds = "SELECT (:answer->>'apples')::int > 0 AND :tree <> ''" }
""",
}


def make_orchard(contracts: Path, spoiled: tuple[tuple[str, str, str], ...] = ()) -> None:
    """Write the contract below a folder of contracts; `spoiled`: file, text, and what stands in its place."""
    texts = dict(FILES)
    for name, old, new in spoiled:
        assert old in texts[name], f"{name} has no {old}"
        texts[name] = texts[name].replace(old, new, 1)
    for name, text in texts.items():
        path = contracts / "orchard" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
