import { users } from './users.js'
import { createApp } from '../documented/app.js'
import { start } from '../documented/cluster.js'
import { accounts } from '../documented/database.js'

start(async () => {
  const app = createApp(await accounts(), users)
  const server = app.listen({ host: process.env.HOST, port: Number(process.env.PORT), backlog: 4096 })
  server.keepAliveTimeout = 75_000
  return done => server.close(done)
})
