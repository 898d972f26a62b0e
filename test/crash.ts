/** `npm run crash`: kills the service or its database under load, round after round, and checks what is left. */
import { parseArgs } from 'node:util'
import { runCrashRounds, type Victim } from './support/crash.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    kill: { type: 'string', default: 'service' },
    rounds: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
  },
})
const store = (['sqlite', 'postgres'] as const).find((name) => name === values.store)
const victim = (['service', 'server', 'backend'] as const).find((name): name is Victim => name === values.kill)
const [rounds, seed] = [Number(values.rounds), Number(values.seed)]
if (store === undefined || victim === undefined || !(rounds > 0) || !Number.isInteger(seed)) {
  console.error('npm run crash -- --store sqlite|postgres --kill service|server|backend --rounds 1000 --seed 1')
  process.exit(1)
}
if (store === 'sqlite' && victim !== 'service') {
  console.error('SQLite runs inside the service: --kill service')
  process.exit(1)
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
