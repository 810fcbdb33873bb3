import { users } from './users.js'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createListener } from '../documented/app.js'
import { accounts } from '../documented/database.js'
import { start } from './start.js'

start(fileURLToPath(import.meta.url), async () => {
  const server = createServer(createListener(await accounts(), users))
  server.keepAliveTimeout = 75_000
  server.listen({ host: process.env.HOST, port: Number(process.env.PORT), backlog: 4096 })
  return done => server.close(done)
})
