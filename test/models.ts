/** `npm run models`: compares random requests with a model, in any number of runs, on one store or both. */
import { commandOptions } from '../tools/command-options.ts'
import { runPropertyModel } from './support/property-runs.ts'
import { startService } from './support/service.ts'
import { createTestDatabase } from './support/stores.ts'

const {
  store: chosen,
  runs,
  seed,
} = commandOptions({
  command: 'npm run models',
  about: 'Compares the results of random requests with a model.',
  options: {
    store: {
      kind: 'choice',
      choices: ['sqlite', 'postgres', 'both'],
      default: 'both',
      about: 'The database.',
    },
    runs: { kind: 'integer', least: 1, default: 1000, about: 'Number of runs on each store.' },
    seed: { kind: 'integer', least: 0, about: 'Seed of the random choices. Default: random.' },
  },
}).values
const stores = (['sqlite', 'postgres'] as const).filter((name) => chosen === 'both' || chosen === name)

for (const store of stores) {
  const database = await createTestDatabase(store)
  const service = await startService(database.url, { logLevel: 'silent' })
  const started = performance.now()
  try {
    await runPropertyModel(service, { runs, ...(seed === undefined ? {} : { seed }) })
    console.log(`${store}: ${runs} runs agree with the model (${((performance.now() - started) / 1000).toFixed(0)} s)`)
  } catch (error) {
    console.error(error instanceof Error ? `${error.message}\n${String(error.cause)}` : error)
    process.exitCode = 1
  }
  await service.close()
  await database.remove()
}
