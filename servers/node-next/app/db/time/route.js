import { route, text } from '../../../lib/answers.js'
import { service } from '../../../lib/service.js'
export { notAllowed as POST, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../../lib/answers.js'

export const dynamic = 'force-dynamic'

export const GET = route(async () => text(await service.store.time()))
