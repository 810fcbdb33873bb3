-- Whether one of the two tables has most numbers of an answer: others may write some of its rows before this is asked. Each row is found
-- by its key. A join might read a table whole, and what the lab reads under load is counted with what the server reads.
SELECT greatest(avg(((SELECT randomnumber FROM world WHERE world.id = a.id) = ANY (a.numbers))::int),
                avg(((SELECT randomnumber FROM "World" AS quoted WHERE quoted.id = a.id) = ANY (a.numbers))::int)) >= 0.8
FROM (SELECT (r->>'id')::int AS id, array_agg(coalesce(r->>'randomNumber', r->>'randomnumber')::int) AS numbers
      FROM jsonb_array_elements(:answer) AS one(r) GROUP BY 1) AS a
