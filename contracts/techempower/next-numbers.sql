-- Every number becomes the next one, in both tables.
WITH plain AS (UPDATE world SET randomnumber = 1 + randomnumber % 10000 RETURNING 1),
     quoted AS (UPDATE "World" SET randomnumber = 1 + randomnumber % 10000 RETURNING 1)
SELECT (SELECT count(*) FROM plain) = (SELECT count(*) FROM quoted)
