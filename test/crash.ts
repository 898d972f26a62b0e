/** `npm run crash`: kills the service or its database under load, round after round, and checks the remaining data. */
import { commandOptions, refuseOptions } from '../tools/command-options.ts'
import { runCrashRounds } from './support/crash.ts'

const command = {
  command: 'npm run crash',
  about: 'Kills the service or its database under load, round after round, and checks the remaining data.',
  options: {
    store: { kind: 'choice', choices: ['sqlite', 'postgres'], default: 'sqlite', about: 'The database.' },
    kill: {
      kind: 'choice',
      choices: ['service', 'server', 'backend'],
      default: 'service',
      about: 'The process to kill: the service, the database server, or one of its connections.',
    },
    rounds: { kind: 'integer', least: 1, default: 100, about: 'Number of rounds.' },
    seed: {
      kind: 'integer',
      least: 0,
      default: 1,
      about: 'Seed of the random choices; the same seed reproduces a failure.',
    },
  },
} as const
const { store, kill: victim, rounds, seed } = commandOptions(command).values
if (store === 'sqlite' && victim !== 'service') {
  refuseOptions(
    command,
    `Invalid --kill "${victim}": SQLite runs inside the service, so only the service can be killed.`,
  )
}

const started = performance.now()
try {
  const { acknowledged, unknown } = await runCrashRounds({
    store,
    victim,
    rounds,
    seed,
    print: (line) => console.log(line),
  })
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  console.log(`${rounds} rounds from seed ${seed} in ${seconds} s: ${acknowledged} requests acknowledged, all kept;`)
  console.log(`${unknown} without a response, each applied fully or not at all.`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
