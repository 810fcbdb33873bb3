// Next calls this once in each process, before it answers anything. The condition is how its documentation leaves out the edge.
export async function register () {
  if (process.env.NEXT_RUNTIME === 'nodejs') {
    const { open } = await import('./lib/service.js')
    await open(process.env)
  }
}
