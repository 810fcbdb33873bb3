// The database as the routes see it: node-postgres with its pool. Named statements are prepared once for each connection.
import pg from 'pg'

const { DATABASE_URL, POOL_SHARE } = process.env
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: Number(POOL_SHARE) })
// Without listeners, a connection that breaks would end the process.
pool.on('error', () => {})
pool.on('connect', client => client.on('error', () => {}))

const rows = async (name, text, values) => (await pool.query({ name, text, values })).rows
const row = async (name, text, values) => (await rows(name, text, values))[0]

export const ask = () => pool.query('SELECT 1')

export const personOf = email => row('person', 'SELECT id, password FROM people WHERE email = $1', [email])

// Both statements at once, each on a connection of its own.
export async function page (person, limit, offset) {
  const [items, { total }] = await Promise.all([
    rows('items', 'SELECT id, title, done FROM todos WHERE person = $1 ORDER BY id DESC LIMIT $2 OFFSET $3', [person, limit, offset]),
    row('total', 'SELECT count(*)::integer AS total FROM todos WHERE person = $1', [person])
  ])
  return { total, items }
}

export const create = (person, title) =>
  row('create', 'INSERT INTO todos (person, title) VALUES ($1, $2) RETURNING id, title, done', [person, title])

// None where there is no such todo, or it is somebody else's.
export const complete = (person, id, done) =>
  row('complete', 'UPDATE todos SET done = $1 WHERE id = $2 AND person = $3 RETURNING id, title, done', [done, id, person])

export const remove = (person, id) =>
  row('remove', 'DELETE FROM todos WHERE id = $1 AND person = $2 RETURNING id', [id, person])
