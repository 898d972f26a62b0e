/** `troupe migrate-data`: upgrades stored values to the versions that the application declares, while the service runs. */
import { Indexes } from '../actor/indexes.ts'
import { setDefaultMode } from '../config/env.ts'
import { DataMigration } from '../property/maintenance/data-migration.ts'
import { DeclaredKinds } from '../property/declared-kinds.ts'
import { loadApplication } from './load-application.ts'
import { UsageError } from './usage-error.ts'
import { print, printError } from './output.ts'
import { openExistingStore } from './project/known-project.ts'

const maxNamed = 100

export async function migrateData(args: readonly string[]): Promise<number> {
  const [file, word, ...more] = args
  const isDry = word === 'plan'
  if (file === undefined || more.length > 0 || (word !== undefined && !isDry))
    throw new UsageError('Cannot run troupe migrate-data: expected one module, and plan for a dry run.')
  setDefaultMode('development')
  const { config, registry } = await (await loadApplication(file)).declared()
  let named = 0
  const store = await openExistingStore(config)
  try {
    const migration = new DataMigration({
      store,
      declared: new DeclaredKinds(registry),
      indexes: new Indexes({
        indexedProperties: new Set(config.indexedProperties),
        forceEmailAsCreator: config.forceEmailAsCreator,
        uniqueCreator: config.uniqueCreator,
        onCollision: (actorId, name) =>
          print(`collision ${JSON.stringify(name)} of actor ${actorId}: another actor has the value already`),
      }),
      failed: (actorId, name, { message, detail }) => {
        named += 1
        if (named <= maxNamed)
          print(`failed    ${JSON.stringify(name)} of actor ${actorId}: ${detail.reason ?? message}`)
      },
    })
    const { values, items, failures } = await migration.run({ isDry })
    const what = `${counted(values, 'value')} and ${counted(items, 'item')}`
    print(isDry ? `troupe migrate-data upgrades ${what}.` : `Upgraded ${what}.`)
    if (failures === 0) return 0
    printError(`Cannot upgrade ${counted(failures, 'property', 'properties')}: correct migrate and run it again.`)
    return 1
  } finally {
    await store.close()
  }
}

function counted(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}
