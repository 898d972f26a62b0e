/** `troupe scale`: distributes the tables of a PostgreSQL database over the servers of a Citus cluster. */
import { openStore, scaleStore } from '../open-store.ts'
import { UsageError } from './usage-error.ts'
import { print } from './output.ts'
import { commandConfig, openExistingStore, projectTables } from './project/known-project.ts'

/** Enough for a growth to 16 servers. Citus recommends two to four shards for each core of the final cluster. */
const defaultShards = 32
const maxShards = 1024

export async function scale(args: readonly string[]): Promise<number> {
  const [word, given, ...more] = args
  const isDry = word === 'plan'
  const shards = given === undefined ? defaultShards : Number(given)
  if ((!isDry && word !== 'init') || more.length > 0)
    throw new UsageError('Cannot run troupe scale: expected init or plan, and at most a number of shards.')
  if (!Number.isInteger(shards) || shards < 1 || shards > maxShards)
    throw new UsageError(`Cannot run troupe scale ${word}: expected 1 to ${maxShards} shards.`)
  const config = commandConfig()
  const { database: url, databaseSchema: schema } = config
  // Creates the tables of an empty database. A dry run changes nothing.
  const { featureMigrations } = projectTables()
  await (await openStore({ url, schema, workers: 1, mustExist: isDry, featureMigrations })).close()
  await (await openExistingStore(config)).close()
  let steps = 0
  await scaleStore({ url, schema, ...projectTables() }, { shards, isDry }, ({ title }) => {
    steps += 1
    print(title)
  })
  print(
    steps === 0
      ? 'The tables are distributed; no step is missing.'
      : isDry
        ? `troupe scale init runs these ${steps} steps.`
        : 'The tables are distributed. Restart every process of the service.',
  )
  return 0
}
