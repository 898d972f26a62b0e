/**
 * `npm run heavy`: sends a request for each route below an actor with much data to a service in a process of its own, and prints
 * the requests that take more memory or time than a request may.
 */
import { commandOptions } from '../tools/command-options.ts'
import { endMostSubscriptions, fillHeavyActor } from './support/heavy-actor.ts'
import type { Measured } from './support/heavy-process.ts'
import { heavyChanges, heavyReads, heavyWrites, type HeavyRequest } from './support/heavy-requests.ts'
import { isOffender, type Limits, measureHeavy, measureHeavyChanges } from './support/heavy-run.ts'
import { startService } from './support/service.ts'
import { copyTestDatabase, createTestDatabase } from './support/stores.ts'

const { store, size, relationships, only, all, memory, pause, heap } = commandOptions({
  command: 'npm run heavy',
  about:
    'Sends a request for each route below an actor with much data as owner, peer and app, and large changes, reads the answers slowly, and prints the requests that take more memory or time than a request may.',
  options: {
    store: { kind: 'choice', choices: ['sqlite', 'postgres'], default: 'sqlite', about: 'The database.' },
    size: {
      kind: 'integer',
      least: 1,
      default: 200,
      about: 'Size of the values and items in MB. 1000 is a full actor.',
    },
    relationships: { kind: 'integer', least: 1, default: 10_000, about: 'Number of relationships and subscriptions.' },
    only: { kind: 'text', about: 'Only routes whose id contains one of these words, separated by commas.' },
    all: { kind: 'flag', about: 'Prints all requests.' },
    heap: { kind: 'integer', least: 16, about: 'Most memory of V8 for old objects, in MB. Default: that of Node.js.' },
    memory: { kind: 'integer', least: 1, default: 64, about: 'Most memory of a request beyond idle, in MB.' },
    pause: {
      kind: 'integer',
      least: 1,
      default: 50,
      about: 'Most processor time in one pause of the event loop, in ms.',
    },
  },
}).values

const limits: Limits = { megabytes: memory, cpuMs: pause, statements: 100 }
const database = await createTestDatabase(store)
const began = performance.now()
try {
  const service = await startService(database.url, { logLevel: 'silent' })
  const actor = await fillHeavyActor(service, {
    megabytes: size,
    relationships,
    onStep: (step) => console.error(`${seconds()} writes ${step}`),
  })
  await service.close()
  const isWanted = ({ name }: HeavyRequest): boolean =>
    only === undefined || only.split(',').some((word) => name.includes(word))
  const run = { limits, oldSpaceMegabytes: heap ?? null, maxBytes: 24_000_000, secondLooks: 4, onMeasured: print }
  console.error(`${seconds()} reads`)
  const reads = await measureHeavy(database.url, actor, heavyReads(actor).filter(isWanted), { ...run, repetitions: 2 })
  const changed = await startService(database.url, { logLevel: 'silent' })
  await endMostSubscriptions(changed, actor.id)
  await changed.close()
  console.error(`${seconds()} changes`)
  const changes = [...heavyWrites(actor), ...heavyChanges(actor)].filter(isWanted)
  const copy = () => copyTestDatabase(database)
  const writes = await measureHeavyChanges(copy, actor, changes, { ...run, repetitions: 1 })
  summarize([...reads, ...writes])
} finally {
  await database.remove()
}

function summarize(measured: readonly Measured[]): void {
  const offenders = measured.filter((one) => isOffender(one, limits))
  const most = (of: 'megabytes' | 'cpuMs'): string =>
    Math.max(0, ...measured.map(({ strain }) => strain?.[of] ?? 0)).toFixed(0)
  console.log(
    `The most of a request: ${most('megabytes')} MB beyond idle, ${most('cpuMs')} ms of processor time in one pause.`,
  )
  for (const one of offenders) console.log(`beyond the limits: ${one.name} as ${one.caller}`)
  console.log(
    `${offenders.length} of ${measured.length} requests take more than ${memory} MB or ${pause} ms (${seconds()}).`,
  )
  if (offenders.length > 0) process.exitCode = 1
}

function seconds(): string {
  return `${((performance.now() - began) / 1000).toFixed(0)} s`
}

function print(one: Measured): void {
  if (!all && !isOffender(one, limits)) return
  const { name, caller, status, bytes, tookMs, strain } = one
  const strained =
    strain === null
      ? 'the process ended'
      : `${strain.megabytes.toFixed(0)} MB, ${strain.cpuMs.toFixed(0)} ms CPU and ${strain.statements} statements in one pause of ${strain.delayMs.toFixed(0)} ms`
  console.log(
    `${name.padEnd(36)} ${caller.padEnd(7)} ${String(status).padEnd(4)} ${bytes} bytes, ${tookMs.toFixed(0)} ms: ${strained}`,
  )
}
