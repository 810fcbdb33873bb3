-- Whether all rows of an answer are those of one of the two tables.
SELECT bool_and(coalesce(world.randomnumber = a.number, false)) OR bool_and(coalesce(quoted.randomnumber = a.number, false))
FROM jsonb_array_elements(:answer) AS one(r),
     LATERAL (SELECT (one.r->>'id')::int AS id, coalesce(one.r->>'randomNumber', one.r->>'randomnumber')::int AS number) AS a
     LEFT JOIN world USING (id) LEFT JOIN "World" AS quoted USING (id)
