-- TechEmpower's two tables, each under both names that its servers use: PostgreSQL folds a name without quotes to lower case, and
-- object mappers often quote theirs. So a server may read `world` or `"World"`, and `fortune` or `"Fortune"`.

CREATE TABLE world (
    id           integer PRIMARY KEY,
    randomnumber integer NOT NULL DEFAULT 0
);

CREATE TABLE "World" (LIKE world INCLUDING ALL);

CREATE TABLE fortune (
    id      integer PRIMARY KEY,
    message varchar(2048) NOT NULL
);

CREATE TABLE "Fortune" (LIKE fortune INCLUDING ALL);
