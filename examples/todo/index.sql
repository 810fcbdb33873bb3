-- The index that the schema lacks: a person's todos, the newest first. `compare --sql-before index.sql` measures what it is worth.
CREATE INDEX todos_of_person ON todos (person, id DESC);
