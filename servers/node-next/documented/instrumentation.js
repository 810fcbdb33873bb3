// Next calls this once in each process, before it answers anything. The condition is how its documentation leaves out the edge.
export async function register () {
  if (process.env.NEXT_RUNTIME === 'nodejs') {
    const { accounts } = await import('./database.js')
    // Next bundles this file and the routes apart: what they share is kept here.
    globalThis.accounts = await accounts()
  }
}
