-- name: GetWorld :one
SELECT id, randomnumber FROM world WHERE id = $1;

-- name: UpdateWorld :exec
UPDATE world SET randomnumber = $1 WHERE id = $2;

-- name: ListFortunes :many
SELECT id, message FROM fortune;
