// Routes that read, list, create and update rows, as a plugin of Fastify's.
import { query } from './database.js'

const NUMBER = { type: 'integer', minimum: 0, maximum: 2147483647 }
const NEW_ITEM = {
  type: 'object',
  required: ['name', 'price_cents', 'stock'],
  properties: { name: { type: 'string', minLength: 1 }, price_cents: NUMBER, stock: NUMBER }
}
const ITEM = {
  type: 'object',
  properties: { id: NUMBER, name: { type: 'string' }, price_cents: NUMBER, stock: NUMBER, revision: NUMBER }
}
const ID = { type: 'object', properties: { id: { type: 'integer', minimum: 1, maximum: 2147483647 } } }
const PAGE = { type: 'object', properties: { after: { ...NUMBER, default: 0 } } }

export async function items (app) {
  app.get('/items/:id', { schema: { params: ID, response: { 200: ITEM } } }, async ({ params: { id } }, reply) => {
    const { rows } = await query('item', 'SELECT id, name, price_cents, stock, revision FROM items WHERE id = $1', [id])
    return rows[0] ?? unknown(reply)
  })

  app.get('/items', { schema: { querystring: PAGE, response: { 200: { type: 'array', items: ITEM } } } }, async ({ query: { after } }) => {
    const { rows } = await query(
      'items', 'SELECT id, name, price_cents, stock, revision FROM items WHERE id > $1 ORDER BY id LIMIT 20', [after])
    return rows
  })

  app.post('/items', { schema: { body: NEW_ITEM, response: { 201: ITEM } } }, async ({ body }, reply) => {
    const { rows } = await query(
      'create', 'INSERT INTO items (name, price_cents, stock) VALUES ($1, $2, $3) RETURNING id, name, price_cents, stock, revision',
      [body.name, body.price_cents, body.stock])
    return reply.code(201).send(rows[0])
  })

  app.put('/items/:id', { schema: { params: ID, body: NEW_ITEM, response: { 200: ITEM } } }, async ({ params: { id }, body }, reply) => {
    const { rows } = await query(
      'update',
      'UPDATE items SET name = $1, price_cents = $2, stock = $3, revision = revision + 1 WHERE id = $4 RETURNING id, name, price_cents, stock, revision',
      [body.name, body.price_cents, body.stock, id])
    return rows[0] ?? unknown(reply)
  })
}

const unknown = reply => reply.code(404).send({ ok: false, message: 'no such item' })
