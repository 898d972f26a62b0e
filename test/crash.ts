/** `npm run crash`: kills the service or its database under load, round after round, and checks what is left. */
import { commandOptions, refuseOptions } from '../tools/command-options.ts'
import { runCrashRounds } from './support/crash.ts'

const command = {
  command: 'npm run crash',
  about: 'Kills the service or its database under load, round after round, and checks what is left.',
  options: {
    store: { kind: 'choice', choices: ['sqlite', 'postgres'], default: 'sqlite', about: 'Where the data is kept.' },
    kill: {
      kind: 'choice',
      choices: ['service', 'server', 'backend'],
      default: 'service',
      about: 'What is killed: the service, the database server, or one of its connections.',
    },
    rounds: { kind: 'integer', least: 1, default: 100, about: 'How many rounds.' },
    seed: { kind: 'integer', least: 0, default: 1, about: 'Where the random choices begin; brings a failure back.' },
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
  console.log(
    `${rounds} rounds from seed ${seed} in ${seconds} s: ${acknowledged} requests acknowledged, all of them kept;`,
  )
  console.log(`${unknown} without an answer, each wholly made or not at all.`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
