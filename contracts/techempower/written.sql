-- Whether the rows of an answer have its numbers in one of the two tables; 19 of 20, since a row may be drawn twice.
SELECT greatest(avg((world.randomnumber = a.number)::int), avg((quoted.randomnumber = a.number)::int)) >= 0.95
FROM jsonb_array_elements(:answer) AS one(r),
     LATERAL (SELECT (one.r->>'id')::int AS id, coalesce(one.r->>'randomNumber', one.r->>'randomnumber')::int AS number) AS a
     LEFT JOIN world USING (id) LEFT JOIN "World" AS quoted USING (id)
