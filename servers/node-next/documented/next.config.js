import { dirname } from 'node:path'

// The folder with `node_modules`, whatever lock files lie above it.
export default { turbopack: { root: dirname(import.meta.dirname) } }
