/** `npm run crash`: kills the service or its database under load, round after round, and checks the remaining data. */
import { commandOptions, refuseOptions } from '../tools/command-options.ts'
import { citusVariable } from './support/citus.ts'
import { runCrashRounds } from './support/crash.ts'

const command = {
  command: 'npm run crash',
  about: 'Kills the service or its database under load, round after round, and checks the remaining data.',
  options: {
    store: { kind: 'choice', choices: ['sqlite', 'postgres'], default: 'sqlite', about: 'The database.' },
    kill: {
      kind: 'choice',
      choices: ['service', 'server', 'backend', 'worker'],
      default: 'service',
      about: 'The process to kill: the service, the database server, one of its connections, or one of a Citus worker.',
    },
    coordinator: { kind: 'text', about: 'The coordinator of a Citus cluster on this machine, as for npm run citus.' },
    workers: { kind: 'text', about: 'The workers of the cluster, separated by commas.' },
    rounds: { kind: 'integer', least: 1, default: 100, about: 'Number of rounds.' },
    seed: {
      kind: 'integer',
      least: 0,
      default: 1,
      about: 'Seed of the random choices; the same seed reproduces a failure.',
    },
  },
} as const
const { store, kill: victim, rounds, seed, coordinator, workers } = commandOptions(command).values
if (coordinator !== undefined && workers !== undefined) {
  process.env[citusVariable] = `${coordinator},${workers}`
  process.env['TROUPE_TEST_POSTGRES'] = coordinator
} else if (victim === 'worker') {
  refuseOptions(command, 'Missing option: expected --coordinator and --workers.')
}
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
