import { createApp } from './app.js'
import { start } from './cluster.js'
import { accounts } from './database.js'

start(async () => {
  const app = createApp(await accounts())
  const server = app.listen({ host: process.env.HOST, port: Number(process.env.PORT), backlog: 4096 })
  server.keepAliveTimeout = 75_000
  return done => server.close(done)
})
