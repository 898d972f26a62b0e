/**
 * `npm run heavy`: sends every GET request for an actor with much data to a service in a process of its own, and prints the
 * requests that take more memory or time than a request may.
 */
import { commandOptions } from '../tools/command-options.ts'
import { endMostSubscriptions, fillHeavyActor } from './support/heavy-actor.ts'
import {
  heavyReads,
  heavyWrites,
  isOffender,
  type HeavyRequest,
  type Limits,
  type Measured,
  measureHeavy,
} from './support/heavy-requests.ts'
import { startService } from './support/service.ts'
import { createTestDatabase } from './support/stores.ts'

const { store, size, relationships, only, all, memory, pause, heap } = commandOptions({
  command: 'npm run heavy',
  about:
    'Sends every GET request for an actor with much data as owner, peer and app, and large changes, reads the answers slowly, and prints the requests that take more memory or time than a request may.',
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
const { url: database, remove } = await createTestDatabase(store)
try {
  const service = await startService(database, { logLevel: 'silent' })
  const actor = await fillHeavyActor(service, {
    megabytes: size,
    relationships,
    onStep: (step) => console.error(`writes ${step}`),
  })
  await service.close()
  const isWanted = ({ name }: HeavyRequest): boolean =>
    only === undefined || only.split(',').some((word) => name.includes(word))
  const run = { limits, oldSpaceMegabytes: heap ?? null, maxBytes: 48_000_000, onMeasured: print }
  const reads = await measureHeavy(database, actor, heavyReads(actor).filter(isWanted), { ...run, repetitions: 2 })
  const changed = await startService(database, { logLevel: 'silent' })
  await endMostSubscriptions(changed, actor.id)
  await changed.close()
  const writes = await measureHeavy(database, actor, heavyWrites(actor).filter(isWanted), { ...run, repetitions: 1 })
  const measured = [...reads, ...writes]
  const offenders = measured.filter((one) => isOffender(one, limits))
  console.log(`${offenders.length} of ${measured.length} requests take more than ${memory} MB or ${pause} ms.`)
  if (offenders.length > 0) process.exitCode = 1
} finally {
  await remove()
}

function print(one: Measured): void {
  if (!all && !isOffender(one, limits)) return
  const { name, caller, status, bytes, strain } = one
  const strained =
    strain === null
      ? 'the process ended'
      : `${strain.megabytes.toFixed(0)} MB, ${strain.cpuMs.toFixed(0)} ms CPU and ${strain.statements} statements in one pause of ${strain.delayMs.toFixed(0)} ms`
  console.log(`${name.padEnd(36)} ${caller.padEnd(7)} ${String(status).padEnd(4)} ${bytes} bytes: ${strained}`)
}
