#!/usr/bin/env node
// Plain JavaScript that every Node.js can parse, so that an old version prints a message instead of a syntax error.
import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 16)) {
  console.error(`Troupe needs Node.js 24.16 or newer; this is ${process.versions.node}.`)
  process.exit(1)
}
const built = new URL('../dist/cli/main.js', import.meta.url)
const source = new URL('../src/cli/main.ts', import.meta.url)
const isSource = existsSync(source)
// The cache saves compiling hundreds of modules. It is in the folder of the package, because other users could write to a
// shared one and so replace code. A read-only folder disables the cache silently.
module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/troupe', import.meta.url)))
const { main } = await import((isSource ? source : built).href)
const code = await main(process.argv.slice(2))
process.exitCode = code
// An application's timers must not keep a stopped service alive. The delay allows pending output to be written.
setTimeout(() => process.exit(code), 100).unref()
