// As the author of the benchmark of five services wrote it: texts that are ready before the request, under pm2.
import './choices.js'
import { fileURLToPath } from 'node:url'
import { createApp } from '../documented/app.js'
import { accounts } from '../documented/database.js'
import { start } from './start.js'

const PING = JSON.stringify({ ok: true, message: 'OK' })
const CONTENT_TYPE = 'application/json; charset=utf-8'

function fixedRoutes (app) {
  app.get('/ping', async (request, reply) => reply.type(CONTENT_TYPE).send(PING))
  app.get('/time', async (request, reply) => reply.type(CONTENT_TYPE).send(`{"serverTime":${Math.floor(Date.now() / 1000)}}`))
}

start(fileURLToPath(import.meta.url), async () => {
  const app = createApp(await accounts(), fixedRoutes)
  await app.listen({ host: process.env.HOST, port: Number(process.env.PORT), backlog: 4096 })
  return done => app.close().then(done)
})
