import { createServer } from 'node:http'
import { createListener } from './app.js'
import { start } from './cluster.js'
import { accounts } from './database.js'

start(async () => {
  const server = createServer(createListener(await accounts()))
  server.keepAliveTimeout = 75_000
  server.listen({ host: process.env.HOST, port: Number(process.env.PORT), backlog: 4096 })
  return done => server.close(done)
})
