/** `npm run simulate`: runs one seed with its full trace, or many seeds, distributed over one process per core. */
import './deterministic.ts'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { commandOptions, refuseOptions } from '../../tools/command-options.ts'
import { evilChoices } from './evil/roles.ts'
import { Simulator } from './simulation.ts'

const command = {
  command: 'npm run simulate',
  about: 'Runs services, networks and faults by a seed: one seed line by line, or many seeds in parallel processes.',
  options: {
    seed: { kind: 'integer', least: 0, about: 'Runs one seed and prints its trace.' },
    seeds: { kind: 'integer', least: 1, about: 'Number of runs.' },
    from: { kind: 'integer', least: 0, default: 1, about: 'The first seed, with --seeds.' },
    evil: {
      kind: 'choice',
      choices: evilChoices,
      about:
        'Evil services in every run: a stranger, the old homes of actors that moved, or both. Default: by the seed.',
    },
    digest: { kind: 'flag', about: 'Prints the hash of each run, and its processor time in milliseconds.' },
    processes: { kind: 'integer', least: 1, about: 'Number of parallel processes. Default: the number of cores.' },
  },
} as const
const { seed: one, seeds: many = 0, from, evil, digest, processes: most } = commandOptions(command).values
if (one === undefined && many === 0) refuseOptions(command, 'Missing --seed or --seeds: expected one of them.')

const chosen = evilChoices.find((choice) => choice === evil)
const processes = Math.min(most ?? availableParallelism(), Math.ceil(many / 100))
if (one === undefined && processes > 1) await shareOut(processes)
else await run(one !== undefined ? [one] : Array.from({ length: many }, (_, index) => from + index))

async function run(seeds: readonly number[]): Promise<void> {
  const simulator = new Simulator()
  const print = one !== undefined ? (line: string): void => console.log(line) : undefined
  const started = performance.now()
  const bad: number[] = []
  const totals = new Map<string, number>()
  for (const seed of seeds) {
    const before = process.cpuUsage()
    const { violations, hash, statistics } = await simulator.run(seed, print, chosen)
    const { user, system } = process.cpuUsage(before)
    if (digest) console.log(`seed ${seed} ${hash} ${Math.round((user + system) / 1000)} ms`)
    for (const [name, count] of Object.entries<number>({ ...statistics })) {
      totals.set(name, (totals.get(name) ?? 0) + count)
    }
    if (print !== undefined) console.log(`trace ${hash}`)
    if (violations.length === 0) continue
    bad.push(seed)
    console.error(`seed ${seed}: ${violations.slice(0, 3).join('\n  ')}`)
  }
  simulator.close()
  const summary = [...totals].map(([name, count]) => `${count} ${name}`).join(', ')
  const first = seeds.length > 1 ? ` from ${from}` : ''
  console.log(`${seeds.length} runs${first} in ${((performance.now() - started) / 1000).toFixed(1)} s: ${summary}`)
  if (bad.length > 0) {
    console.error(`${bad.length} of them violate an invariant: ${bad.slice(0, 50).join(', ')}`)
    process.exitCode = 1
  }
}

/** Each process prints its own results. */
async function shareOut(count: number): Promise<void> {
  const share = Math.ceil(many / count)
  const codes = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const seeds = Math.min(share, many - index * share)
      const choice = evil === undefined ? [] : ['--evil', evil]
      const args = [
        ...choice,
        ...(digest ? ['--digest'] : []),
        '--seeds',
        String(seeds),
        '--from',
        String(from + index * share),
        '--processes',
        '1',
      ]
      const [code] = (await once(fork(import.meta.filename, args), 'exit')) as [number | null]
      return code
    }),
  )
  if (codes.some((code) => code !== 0)) process.exitCode = 1
}
