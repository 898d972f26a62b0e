/**
 * `npm run heavy`: sends every GET request for an actor with much data to a service in a process of its own, and prints the
 * requests that take more memory or time than a request may.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandOptions } from '../tools/command-options.ts'
import { fillHeavyActor } from './support/heavy-actor.ts'
import { heavyReads, isOffender, type Limits, type Measured, measureHeavy } from './support/heavy-requests.ts'
import { startService } from './support/service.ts'

const { size, relationships, only, all, memory, pause } = commandOptions({
  command: 'npm run heavy',
  about:
    'Sends every GET request for an actor with much data as owner, peer and app, reads the answers slowly, and prints the requests that take more memory or time than a request may.',
  options: {
    size: {
      kind: 'integer',
      least: 1,
      default: 200,
      about: 'Size of the values and items in MB. 1000 is a full actor.',
    },
    relationships: { kind: 'integer', least: 1, default: 10_000, about: 'Number of relationships and subscriptions.' },
    only: { kind: 'text', about: 'Only routes whose id contains this.' },
    all: { kind: 'flag', about: 'Prints all requests.' },
    memory: { kind: 'integer', least: 1, default: 64, about: 'Most memory of a request beyond idle, in MB.' },
    pause: {
      kind: 'integer',
      least: 1,
      default: 50,
      about: 'Most processor time in one pause of the event loop, in ms.',
    },
  },
}).values

const limits: Limits = { megabytes: memory, cpuMs: pause }
const folder = mkdtempSync(join(tmpdir(), 'troupe-heavy-'))
try {
  const database = `sqlite:${join(folder, 'heavy.db')}`
  const service = await startService(database, { logLevel: 'silent' })
  const actor = await fillHeavyActor(service, {
    megabytes: size,
    relationships,
    onStep: (step) => console.error(`writes ${step}`),
  })
  await service.close()
  const requests = heavyReads(actor).filter(({ name }) => only === undefined || name.includes(only))
  report(await measureHeavy(database, actor, requests, { limits, oldSpaceMegabytes: null, repetitions: 2 }))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function report(measured: readonly Measured[]): void {
  const offenders = measured.filter((one) => isOffender(one, limits))
  for (const { name, caller, status, bytes, strain } of all ? measured : offenders) {
    const strained =
      strain === null
        ? 'the process ended'
        : `${strain.megabytes.toFixed(0)} MB, ${strain.cpuMs.toFixed(0)} ms CPU in one pause of ${strain.delayMs.toFixed(0)} ms`
    console.log(`${name.padEnd(36)} ${caller.padEnd(6)} ${String(status).padEnd(4)} ${bytes} bytes: ${strained}`)
  }
  console.log(`${offenders.length} of ${measured.length} requests take more than ${memory} MB or ${pause} ms.`)
  if (offenders.length > 0) process.exitCode = 1
}
