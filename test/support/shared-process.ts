/**
 * Runs test files one after the other in this process, which loads and compiles the code of the service once. A file that
 * changes something for the files after it, or that an error left, fails.
 */
import { channel, subscribe } from 'node:diagnostics_channel'
import { createRequire } from 'node:module'
import { describe, it } from 'node:test'
// Real time: it limits a file that releases nothing.
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'

/** Kinds of resources that keep a process alive until a test or a service releases them. */
const heldKinds = /^(?:Timeout|FSEventWrap|HTTP|MessagePort|PipeServerWrap|ProcessWrap|StatWatcher|TCP|TLS|UDP|Worker)/
/** A closed connection needs some turns of the event loop. */
const patienceMs = 20_000
const pauseMs = 5
/** Programs and tests listen to these events. Libraries add listeners to others once, when they are loaded. */
const events = ['SIGHUP', 'SIGINT', 'SIGTERM', 'message', 'warning']

const load = createRequire(import.meta.url)
const starts = channel('troupe:test-file')
const errors: unknown[] = []
process.on('uncaughtExceptionMonitor', (error) => errors.push(error))
// node:test handles rejections, so that the monitor does not see them.
process.on('unhandledRejection', (error) => errors.push(error))
// A test may wait while nothing else keeps the process alive, which would end the whole run.
const alive = setInterval(() => {}, 2 ** 30)

let written = Promise.withResolvers<void>()
// The next file may end the process, so the results of this one must be written before.
subscribe('troupe:test-file-ended', () => written.resolve())

for (const file of process.argv.slice(2)) {
  starts.publish(file)
  const before = stateOfProcess()
  // An earlier file that failed may have left some.
  const heldBefore = heldResources().length
  written = Promise.withResolvers()
  await describe(file, () => {
    load(file)
  })
  await written.promise
  const faults = [
    ...(await changesSince(before, heldBefore)),
    ...errors.splice(0).map((error) => `An error: ${inspect(error)}`),
  ]
  if (faults.length > 0)
    await it(file, () => {
      throw new Error(`The file left something behind in its process:\n${faults.join('\n')}`)
    })
}
clearInterval(alive)

/** Values by name that a file must leave as they were. */
function stateOfProcess(): Map<string, unknown> {
  return new Map<string, unknown>([
    ...Object.entries(process.env).map(([name, value]) => [`environment variable ${name}`, value] as const),
    ...Object.getOwnPropertyNames(globalThis).map((name) => [`global ${name}`, descriptorOf(name)] as const),
    ...events.map((name) => [`listeners of ${name}`, process.listenerCount(name)] as const),
    ['working directory', process.cwd()],
    ...Object.entries(Object.getOwnPropertyDescriptors(Error)).map(
      ([name, { value }]) => [`Error.${name}`, value as unknown] as const,
    ),
  ])
}

/** Returns the value of a global; null when reading it would load a part of Node.js. */
function descriptorOf(name: string): unknown {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, name)
  return descriptor?.get === undefined ? (descriptor?.value as unknown) : null
}

async function changesSince(before: ReadonlyMap<string, unknown>, heldBefore: number): Promise<string[]> {
  const began = performance.now()
  // Node.js reports a rejection after the test that left it. Real time: it limits a file that releases nothing.
  do await pause(pauseMs)
  while (heldResources().length > heldBefore && performance.now() - began < patienceMs)
  const found = heldResources()
  const held = found.length > heldBefore ? found.map((kind) => `It keeps the process alive: ${kind}`) : []
  const after = stateOfProcess()
  const names = [...new Set([...before.keys(), ...after.keys()])]
  const changed = names.filter((name) => !isOfLibrary(name) && !Object.is(before.get(name), after.get(name)))
  return [...held, ...changed.map((name) => `It changed: ${name}`)]
}

/** Compiled libraries, such as zod, define globals of this form when they are loaded. */
function isOfLibrary(name: string): boolean {
  return name.startsWith('global __')
}

function heldResources(): string[] {
  const held = process.getActiveResourcesInfo().filter((kind) => heldKinds.test(kind))
  // One timer keeps this process alive.
  const own = held.indexOf('Timeout')
  return held.filter((_, index) => index !== own)
}
