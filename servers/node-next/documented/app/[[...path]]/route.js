// All paths that no other route has, where Next would answer with a page.

export const GET = () => Response.json({ ok: false, message: 'no such route' }, { status: 404 })

export { GET as POST, GET as PUT, GET as PATCH, GET as DELETE }
