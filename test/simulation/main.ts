/** `npm run simulate`: one seed with its whole story, or many seeds. */
import { parseArgs } from 'node:util'
import { Simulator } from './simulation.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
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

const simulator = new Simulator()
const print = Number.isInteger(one) ? (line: string): void => console.log(line) : undefined
const seeds = Number.isInteger(one) ? [one] : Array.from({ length: many }, (_, index) => from + index)
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
console.log(`${seeds.length} runs in ${((performance.now() - started) / 1000).toFixed(1)} s: ${told}`)
if (bad.length > 0) {
  console.error(`${bad.length} of them break what must hold: ${bad.slice(0, 50).join(', ')}`)
  process.exitCode = 1
}
