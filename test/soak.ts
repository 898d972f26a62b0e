/**
 * `npm run soak`: runs two services under load with a fault in every period, or one service under a steady load, and checks
 * that their resources stay constant.
 */
import { commandOptions } from '../tools/command-options.ts'
import { type Period, runSoak } from './support/soak.ts'
import { growthOf, runSteadyLoad, sampleLine } from './support/steady-load.ts'

const { minutes, store, seed, operations, load } = commandOptions({
  command: 'npm run soak',
  about:
    'Runs two services under load with a fault in every period, or one service under a steady load, and checks that what they use stays constant.',
  options: {
    minutes: { kind: 'number', default: 10, about: 'Duration in minutes, but at least ten periods.' },
    store: { kind: 'choice', choices: ['sqlite', 'postgres'], default: 'sqlite', about: 'The database.' },
    seed: { kind: 'integer', least: 0, default: 1, about: 'Seed of the random choices.' },
    operations: { kind: 'integer', least: 3, default: 500, about: 'Number of requests in each period.' },
    load: {
      kind: 'integer',
      least: 1,
      about: 'A steady load without faults, in percent of what the service can answer.',
    },
  },
}).values

if (load === undefined) await runPeriods()
else await runLoad(load)

/** Each sample is a minute, or a part of a shorter run. */
async function runLoad(percent: number): Promise<void> {
  const samples = Math.max(8, Math.round(minutes))
  const measured = await runSteadyLoad({
    store,
    seed,
    percent,
    samples,
    sampleMs: (minutes * 60_000) / samples,
    onRate: (perSecond) => console.log(`${perSecond.toFixed(0)} operations a second are ${percent} %`),
    onSample: (sample) => console.log(sampleLine(sample)),
  })
  const growth = growthOf(measured)
  for (const line of growth) console.log(line)
  if (growth.length === 0) console.log('Nothing grew, and no request failed.')
  else process.exitCode = 1
}

async function runPeriods(): Promise<void> {
  const ends = performance.now() + minutes * 60_000
  const periods = await runSoak({
    store,
    seed,
    operations,
    goesOn: (count) => count < 10 || performance.now() < ends,
    onPeriod({ fault, requests, failed, heapBytes, handles, medianMs, rows, violations }) {
      const kept = Object.values(rows).reduce((sum, count) => sum + count, 0)
      console.log(
        `${fault.padEnd(18)} ${requests} requests, ${failed} failed; ${mebibytes(heapBytes)} MiB, ${handles} handles, ${kept} rows, a write in ${medianMs.toFixed(1)} ms`,
      )
      for (const violation of violations) console.log(`  ${violation}`)
    },
  })

  const [early, late] = [periods.slice(5, 10), periods.slice(-5)]
  const violations = periods.flatMap((period) => period.violations)
  console.log(
    `${periods.length} periods: ${mebibytes(most(early))} MiB at first, ${mebibytes(most(late))} MiB at last, ${violations.length} violations`,
  )
  if (violations.length > 0 || most(late) > most(early) * 1.25 + 8 * 2 ** 20) process.exitCode = 1
}

function most(some: readonly Period[]): number {
  return Math.max(...some.map(({ heapBytes }) => heapBytes))
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1)
}
