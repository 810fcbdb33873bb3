// TechEmpower's six tests, as Fastify's documentation writes routes: with schemas for what goes out, and a view for the page.
import view from '@fastify/view'
import Fastify from 'fastify'
import handlebars from 'handlebars'

const WORLDS = 10_000
const MOST_QUERIES = 500
const WORLD = { type: 'object', properties: { id: { type: 'integer' }, randomNumber: { type: 'integer' } } }
const MESSAGE = { type: 'object', properties: { message: { type: 'string' } } }
const answers = schema => ({ schema: { response: { 200: schema } } })
const answersMany = answers({ type: 'array', items: WORLD })

const randomNumber = () => 1 + Math.floor(Math.random() * WORLDS)

// In order, so that two requests that update the same rows wait for each other and do not deadlock.
function randomIds (count) {
  const ids = new Set()
  while (ids.size < count) ids.add(randomNumber())
  return [...ids].sort((one, other) => one - other)
}

// How many were asked for, within 1 and 500; what is no number is 1.
const queries = request => Math.min(Math.max(parseInt(request.query.queries, 10) || 1, 1), MOST_QUERIES)

export function createApp (store) {
  const app = Fastify({ keepAliveTimeout: 75_000, forceCloseConnections: 'idle' })
  app.register(view, { engine: { handlebars } })
  app.addHook('onRequest', async (request, reply) => { reply.header('server', 'Fastify') })
  app.setErrorHandler(answerError)

  app.get('/plaintext', async (request, reply) => reply.type('text/plain').send('Hello, World!'))

  app.get('/json', answers(MESSAGE), async () => ({ message: 'Hello, World!' }))

  app.get('/db', answers(WORLD), async () => store.world(randomNumber()))

  app.get('/queries', answersMany, async request =>
    Promise.all(Array.from({ length: queries(request) }, () => store.world(randomNumber()))))

  app.get('/updates', answersMany, async request => store.update(randomIds(queries(request)), randomNumber))

  app.get('/fortunes', async (request, reply) => {
    const fortunes = [...await store.fortunes(), { id: 0, message: 'Additional fortune added at request time.' }]
    fortunes.sort((one, other) => one.message < other.message ? -1 : 1)
    return reply.view('fortunes.hbs', { fortunes })
  })
  return app
}

// What node-postgres says, as the error itself or as the cause of a mapper's, where no connection became free in POOL_WAIT_MS.
const BUSY = 'timeout exceeded when trying to connect'

function answerError (error, request, reply) {
  if ((error.cause ?? error).message === BUSY) return reply.code(503).header('retry-after', '1').send({ message: 'no connection in time' })
  console.error(error.message)
  return reply.code(error.statusCode ?? 500).send({ message: 'the request failed' })
}
