import { route } from '../../lib/answers.js'
import { service } from '../../lib/service.js'
export { notAllowed as POST, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../lib/answers.js'

export const dynamic = 'force-dynamic'

export const GET = route(async () => {
  await service.store.ready()
  return new Response(null, { status: 204 })
})
