-- The same rows on every machine: each is computed from its number. Everybody's password is `secret`, by scrypt with Node's default
-- costs (N = 16384, r = 8, p = 1). A real application would give each person a salt.

INSERT INTO people (id, email, password)
SELECT i, 'person' || i || '@example.com',
       'scrypt:666169722067726f756e642073616c74:db3c015291f3313c9f109b6c075d1b74414e06c412a90b850fc2fecb205417c3'
FROM generate_series(1, $people) AS i;

-- Person by person, as they come: the todos of one are all over the table.
INSERT INTO todos (person, title, done)
SELECT 1 + i % $people, (ARRAY['milk', 'bread', 'tea', 'call the bank', 'water the plants'])[1 + i % 5], i % 3 = 0
FROM generate_series(1, $todos) AS i;
