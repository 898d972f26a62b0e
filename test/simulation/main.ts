/** `npm run simulate`: one seed with its whole story, or many seeds, shared out to as many processes as there are cores. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { Simulator } from './simulation.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    processes: { type: 'string' },
  },
})
const [one, many, from] = [values.seed, values.seeds, values.from].map((text) => Number(text ?? Number.NaN)) as [
  number,
  number,
  number,
]
if (!Number.isInteger(one) && !(Number.isInteger(many) && Number.isInteger(from))) {
  console.error('npm run simulate -- --seed 42            one run, told line by line')
  console.error('npm run simulate -- --seeds 10000 [--from 1]')
  process.exit(1)
}

const processes = Math.min(Number(values.processes ?? availableParallelism()), Math.ceil(many / 100))
if (processes > 1) await shareOut(processes)
else await run(Number.isInteger(one) ? [one] : Array.from({ length: many }, (_, index) => from + index))

async function run(seeds: readonly number[]): Promise<void> {
  const simulator = new Simulator()
  const print = Number.isInteger(one) ? (line: string): void => console.log(line) : undefined
  const started = performance.now()
  const bad: number[] = []
  const totals = new Map<string, number>()
  for (const seed of seeds) {
    const { violations, hash, statistics } = await simulator.run(seed, print)
    const { steps, callbacks, numbers, starts } = statistics
    for (const [name, count] of Object.entries({ steps, callbacks, numbers, starts })) {
      totals.set(name, (totals.get(name) ?? 0) + count)
    }
    if (print !== undefined) console.log(`trace ${hash}`)
    if (violations.length === 0) continue
    bad.push(seed)
    console.error(`seed ${seed}: ${violations.slice(0, 3).join('\n  ')}`)
  }
  simulator.close()
  const told = [...totals].map(([name, count]) => `${count} ${name}`).join(', ')
  const first = seeds.length > 1 ? ` from ${from}` : ''
  console.log(`${seeds.length} runs${first} in ${((performance.now() - started) / 1000).toFixed(1)} s: ${told}`)
  if (bad.length > 0) {
    console.error(`${bad.length} of them break what must hold: ${bad.slice(0, 50).join(', ')}`)
    process.exitCode = 1
  }
}

/** Each process tells its own part. */
async function shareOut(count: number): Promise<void> {
  const share = Math.ceil(many / count)
  const codes = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const seeds = Math.min(share, many - index * share)
      const args = ['--seeds', String(seeds), '--from', String(from + index * share), '--processes', '1']
      const [code] = (await once(fork(import.meta.filename, args), 'exit')) as [number | null]
      return code
    }),
  )
  if (codes.some((code) => code !== 0)) process.exitCode = 1
}
