/** `npm run models`: random requests against a model, in any number, on either store or both. */
import { parseArgs } from 'node:util'
import { runPropertyModel } from './support/property-runs.ts'
import { startService } from './support/service.ts'
import { createTestDatabase } from './support/stores.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'both' },
    runs: { type: 'string', default: '1000' },
    seed: { type: 'string' },
  },
})
const runs = Number(values.runs)
const stores = (['sqlite', 'postgres'] as const).filter((name) => values.store === 'both' || values.store === name)
if (stores.length === 0 || !(runs > 0)) {
  console.error('npm run models -- --store sqlite|postgres|both --runs 10000 --seed 7')
  process.exit(1)
}

for (const store of stores) {
  const database = await createTestDatabase(store)
  const service = await startService(database.url, { logLevel: 'silent' })
  const started = performance.now()
  try {
    await runPropertyModel(service, { runs, ...(values.seed === undefined ? {} : { seed: Number(values.seed) }) })
    console.log(`${store}: ${runs} runs agree with the model (${((performance.now() - started) / 1000).toFixed(0)} s)`)
  } catch (error) {
    console.error(error instanceof Error ? `${error.message}\n${String(error.cause)}` : error)
    process.exitCode = 1
  }
  await service.close()
  await database.remove()
}
