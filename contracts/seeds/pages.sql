-- What `GET /items?after=…` answers, for each `after` that a page begins behind.
SELECT after, (
    SELECT json_agg(page)
    FROM (SELECT id, name, price_cents, stock, revision FROM items WHERE id > after ORDER BY id LIMIT 20) AS page
)
FROM generate_series(0, 480) AS after
