/**
 * The module `node:http`. An `import` reads all its exports, and some of them load the `fetch` of Node.js. That costs
 * each start about 30 ms and 14 MiB, and most services never call this `fetch`.
 */
export const nodeHttp = process.getBuiltinModule('node:http')
