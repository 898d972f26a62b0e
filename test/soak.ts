/** `npm run soak`: two services under load, a fault in every period, and whether what they keep stays the same. */
import { parseArgs } from 'node:util'
import { type Period, runSoak } from './support/soak.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    store: { type: 'string', default: 'sqlite' },
    seed: { type: 'string', default: '1' },
    operations: { type: 'string', default: '500' },
  },
})
const store = (['sqlite', 'postgres'] as const).find((name) => name === values.store)
const [minutes, seed, operations] = [Number(values.minutes), Number(values.seed), Number(values.operations)]
if (store === undefined || !(minutes > 0) || !Number.isInteger(seed) || !(operations > 2)) {
  console.error('npm run soak -- --minutes 1440 --store sqlite|postgres --seed 1 --operations 500')
  process.exit(1)
}

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

function most(some: readonly Period[]): number {
  return Math.max(...some.map(({ heapBytes }) => heapBytes))
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1)
}
