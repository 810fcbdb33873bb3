// A todo list. People log in, and read and change their own todos; those of others do not exist for them.
import { scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import jwt from '@fastify/jwt'
import Fastify from 'fastify'
import * as store from './store.js'

const object = properties => ({ type: 'object', required: Object.keys(properties), properties })
const text = { type: 'string' }
const integer = { type: 'integer' }
const TODO = object({ id: integer, title: text, done: { type: 'boolean' } })
const PAGE = object({ total: integer, items: { type: 'array', items: TODO } })
const ID = object({ id: { type: 'integer', minimum: 1, maximum: 2147483647 } })
const CREDENTIALS = object({ email: text, password: text })
const NEW_TODO = object({ title: { type: 'string', minLength: 1, maxLength: 200 } })
const CHANGE = object({ done: { type: 'boolean' } })
const PAGING = {
  type: 'object',
  properties: {
    page: { type: 'integer', minimum: 1, maximum: 1000000, default: 1 },
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 10 }
  }
}

const hashed = promisify(scrypt)

async function isPassword (password, stored) {
  const [, salt, digest] = stored.split(':')
  const right = Buffer.from(digest, 'hex')
  return timingSafeEqual(await hashed(password, Buffer.from(salt, 'hex'), right.length), right)
}

class HttpError extends Error {
  constructor (statusCode, message) {
    super(message)
    this.statusCode = statusCode
  }
}

const found = todo => {
  if (todo === undefined) throw new HttpError(404, 'no such todo')
  return todo
}

export function createApp () {
  const app = Fastify({ keepAliveTimeout: 75_000, forceCloseConnections: 'idle' })
  // Tokens are signed, so that no request asks the database who sent it.
  app.register(jwt, { secret: process.env.JWT_SECRET, sign: { expiresIn: '1d' } })

  app.get('/health', async () => {
    await store.ask()
    return { status: 'ok' }
  })

  app.post('/login', { schema: { body: CREDENTIALS, response: { 200: object({ token: text }) } } }, async ({ body }) => {
    const person = await store.personOf(body.email)
    if (!person || !await isPassword(body.password, person.password)) throw new HttpError(401, 'wrong email or password')
    return { token: app.jwt.sign({ sub: String(person.id) }) }
  })

  app.register(async own => {
    own.addHook('onRequest', request => request.jwtVerify())
    const person = request => Number(request.user.sub)

    own.get('/todos', { schema: { querystring: PAGING, response: { 200: PAGE } } }, async request => {
      const { page, limit } = request.query
      return store.page(person(request), limit, (page - 1) * limit)
    })

    own.post('/todos', { schema: { body: NEW_TODO, response: { 201: TODO } } }, async (request, reply) =>
      reply.code(201).send(await store.create(person(request), request.body.title)))

    own.put('/todos/:id', { schema: { params: ID, body: CHANGE, response: { 200: TODO } } }, async request =>
      found(await store.complete(person(request), request.params.id, request.body.done)))

    own.delete('/todos/:id', { schema: { params: ID } }, async (request, reply) => {
      found(await store.remove(person(request), request.params.id))
      return reply.code(204).send()
    })
  })
  return app
}
