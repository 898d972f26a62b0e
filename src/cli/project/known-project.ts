/** The project that a command works on: its settings, tables and database, with those of features that its application adds. */
import { processEnvironment } from '../../config/env.ts'
import type { Config } from '../../config/options.ts'
import { resolveConfig, type ServiceConfig } from '../../features/config.ts'
import type { Feature } from '../../features/feature.ts'
import {
  checksOfFeatures,
  localChecksOfFeatures,
  optionsOfFeatures,
  schemaOfFeatures,
} from '../../features/features.ts'
import { builtInFeatures } from '../../features/list.ts'
import { openStore, type StoreOptions } from '../../open-store.ts'
import { unknownFeatures } from '../../store/migrate.ts'
import { StoreStartError } from '../../store/start-error.ts'
import type { Store } from '../../store/store.ts'
import type { WithTables } from '../../table/table.ts'

let features: readonly Feature[] = builtInFeatures

/** Uses the features of the application whose module was loaded. One process runs one command. */
export function useFeatures(ofApplication: readonly Feature[]): void {
  features = ofApplication
}

/** The tables of all features, with the migrations of those that the application adds. */
export function projectTables(): Required<WithTables> {
  return schemaOfFeatures(features)
}

export function projectChecks(): ReturnType<typeof checksOfFeatures> {
  return checksOfFeatures(features)
}

export function projectLocalChecks(): ReturnType<typeof localChecksOfFeatures> {
  return localChecksOfFeatures(features)
}

/** The variables of features that the application adds, with their descriptions. */
export function projectOptions(): Feature['options'] {
  return optionsOfFeatures(features.filter((feature) => !builtInFeatures.includes(feature)))
}

/** The settings of the environment. @throws ConfigError */
export function projectConfig(defaults: Readonly<Record<string, string>> = {}): ServiceConfig {
  return resolveConfig({}, { ...defaults, ...processEnvironment() }, projectOptions())
}

/** The settings for commands that serve nothing, which need fewer of them. @throws ConfigError */
export function commandConfig(): ServiceConfig {
  return projectConfig({ TROUPE_MODE: 'development' })
}

/**
 * Opens the configured database. A missing one is an error: with a wrong DATABASE_URL, an empty answer would look like a true result.
 *
 * @throws StoreStartError also for a database with tables of a feature that the command does not know, and would leave out.
 */
export async function openExistingStore(
  config: Pick<Config, 'database' | 'databaseSchema'>,
  options: Pick<StoreOptions, 'workers' | 'reserveBytes'> = { workers: 1 },
): Promise<Store> {
  const { featureMigrations } = projectTables()
  const { database: url, databaseSchema: schema } = config
  const store = await openStore({ ...options, url, schema, featureMigrations, mustExist: true })
  try {
    const [unknown] = await unknownFeatures(store, featureMigrations)
    if (unknown === undefined) return store
    throw new StoreStartError(
      `Cannot use the database: it has tables of the feature ${unknown}, which this command does not know. Set TROUPE_APP to the module of the application that has the feature. If no application has it any longer, remove its tables (docs/features.md#remove-a-feature).`,
    )
  } catch (error) {
    await store.close()
    throw error
  }
}
