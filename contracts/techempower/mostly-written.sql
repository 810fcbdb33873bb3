-- Whether one of the two tables has most numbers of an answer: others may write some of its rows before this is asked.
SELECT greatest(avg((world.randomnumber = ANY (a.numbers))::int), avg((quoted.randomnumber = ANY (a.numbers))::int)) >= 0.8
FROM (SELECT (r->>'id')::int AS id, array_agg((r->>'randomnumber')::int) AS numbers
      FROM jsonb_array_elements(:answer) AS one(r) GROUP BY 1) AS a
     LEFT JOIN world USING (id) LEFT JOIN "World" AS quoted USING (id)
