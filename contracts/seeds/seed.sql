-- Seed data, the same on every machine: every value is computed from the row number.
-- `$scale` is the pgbench scale (10 unless told); the lab fills it in.

INSERT INTO users (id, username, name, sex, address, mail, birthdate)
SELECT i,
       'user' || lpad(i::text, 3, '0'),
       (ARRAY['Ada','Alan','Barbara','Claude','Donald','Edsger','Frances','Grace','Hedy','Ken'])[1 + i % 10] || ' ' ||
       (ARRAY['Lovelace','Turing','Liskov','Shannon','Knuth','Dijkstra','Allen','Hopper','Lamarr','Thompson'])[1 + (i * 7) % 10],
       CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END,
       (i * 37 % 9900) || ' ' ||
       (ARRAY['Zebra Quay','Maple Street','Old Mill Lane','Victoria Avenue','Jubilee Way','Xavier Yard','Kings Row'])[1 + i % 7] ||
       ', Suite ' || (i * 13 % 400) || E'\n' ||
       (ARRAY['Springfield','Riverton','Oakwood','Åkersberga','Zwolle'])[1 + i % 5] || ', ' ||
       lpad((i * 7919 % 100000)::text, 5, '0'),
       'user' || lpad(i::text, 3, '0') || '@example.com',
       timestamptz '1930-01-09 00:00:00+00' + make_interval(days => (i * 2477) % 29000)
FROM generate_series(1, 100) AS i;
UPDATE users SET birthdate = '1956-01-09 00:00:00+00' WHERE id = 1;

-- Every value has a fixed width, so that every answer to POST /lookup has the same length.
INSERT INTO accounts (account_id, name, email, plan, currency, balance_cents, active, created_at, region, note)
SELECT (100000000 + i)::text,
       'Account holder ' || lpad(i::text, 5, '0'),
       'account' || lpad(i::text, 5, '0') || '@example.com',
       (ARRAY['basic','super','ultra'])[1 + i % 3],
       (ARRAY['EUR','USD','JPY','GBP'])[1 + i % 4],
       1000000 + (i::bigint * 7919) % 9000000,
       true,
       to_char(timestamp '2020-01-01' + make_interval(hours => i), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
       (ARRAY['eu-west-1','us-east-2','ap-east-1'])[1 + i % 3],
       repeat(md5(i::text), 8)
FROM generate_series(1, 10000) AS i;

INSERT INTO pgbench_branches (bid, bbalance) SELECT i, 0 FROM generate_series(1, $scale) AS i;
INSERT INTO pgbench_tellers (tid, bid, tbalance)
SELECT i, (i - 1) / 10 + 1, 0 FROM generate_series(1, 10 * $scale) AS i;
INSERT INTO pgbench_accounts (aid, bid, abalance, filler)
SELECT i, (i - 1) / 100000 + 1, 0, '' FROM generate_series(1, 100000 * $scale) AS i;
ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid);
ALTER TABLE pgbench_tellers ADD PRIMARY KEY (tid);
ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid);

INSERT INTO web_users (name, email)
SELECT 'User ' || i, 'user' || i || '@example.com' FROM generate_series(1, 100) AS i;

INSERT INTO items (name, price_cents, stock)
SELECT 'Item ' || lpad(i::text, 7, '0'), 100 + (i::bigint * 7919) % 99900, (i * 13) % 1000
FROM generate_series(1, $items) AS i ORDER BY i;
