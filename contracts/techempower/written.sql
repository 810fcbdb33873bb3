-- Whether one of the two tables has the numbers of an answer. A row may be drawn twice, and then holds one of its two numbers.
SELECT bool_and(coalesce(world.randomnumber = ANY (a.numbers), false)) OR bool_and(coalesce(quoted.randomnumber = ANY (a.numbers), false))
FROM (SELECT (r->>'id')::int AS id, array_agg(coalesce(r->>'randomNumber', r->>'randomnumber')::int) AS numbers
      FROM jsonb_array_elements(:answer) AS one(r) GROUP BY 1) AS a
     LEFT JOIN world USING (id) LEFT JOIN "World" AS quoted USING (id)
