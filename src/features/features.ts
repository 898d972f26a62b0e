/** The features of one service: their order, and what they add together. */
import type { OptionTable } from '../config/option.ts'
import type { Migration } from '../store/migrate.ts'
import type { Table, WithTables } from '../table/table.ts'
import type { Core, LocalCheck, OutsideCheck, Feature, HandleMembers, StartedFeature } from './feature.ts'
import { builtInFeatures } from './list.ts'

/**
 * Puts features after those that they need.
 *
 * @throws Error for two features with one name, and for a needed feature that is missing or needs this one.
 */
export function orderedFeatures(features: readonly Feature[]): readonly Feature[] {
  const byName = new Map(features.map((feature) => [feature.name, feature]))
  if (byName.size < features.length) throw new Error('Cannot use the features: two have the same name')
  const ordered = new Set<Feature>()
  const add = (feature: Feature, trail: readonly string[]): void => {
    if (trail.includes(feature.name))
      throw new Error(`Cannot use the feature ${feature.name}: it needs itself, through ${trail.join(', ')}`)
    if (ordered.has(feature)) return
    for (const name of feature.needs) {
      const needed = byName.get(name)
      if (needed === undefined)
        throw new Error(`Cannot use the feature ${feature.name}: it needs ${name}, which is not in the list`)
      add(needed, [...trail, feature.name])
    }
    ordered.add(feature)
  }
  for (const feature of features) add(feature, [])
  return [...ordered]
}

export function tablesOfFeatures(features: readonly Feature[]): readonly Table[] {
  return features.flatMap(({ tables }) => tables)
}

function migrationsOfFeatures(features: readonly Feature[]): readonly Migration[] {
  return orderedFeatures(features).flatMap(({ name, migrations }) =>
    migrations.map((migration) => ({ ...migration, feature: name })),
  )
}

export function schemaOfFeatures(features: readonly Feature[]): Required<WithTables> {
  return { tables: tablesOfFeatures(features), featureMigrations: migrationsOfFeatures(features) }
}

export function optionsOfFeatures(features: readonly Feature[]): OptionTable {
  return Object.assign({}, ...features.map(({ options }) => options)) as OptionTable
}

/** The tables of the features of the service. */
export const builtInTables: readonly Table[] = tablesOfFeatures(builtInFeatures)

export function checksOfFeatures(features: readonly Feature[]): readonly OutsideCheck[] {
  return features.flatMap(({ checks }) => checks)
}

export function localChecksOfFeatures(features: readonly Feature[]): readonly LocalCheck[] {
  return features.flatMap(({ localChecks }) => localChecks)
}

/** Starts the features, in their order, and connects them with the core. */
export function startFeatures(features: readonly Feature[], core: Core): readonly StartedFeature[] {
  return orderedFeatures(features).map((feature) => {
    const started = feature.start(core)
    if (started.changeSink !== undefined) core.changeSinks.push(started.changeSink)
    if (started.advanceApprovals !== undefined) core.advanceApprovals.push(started.advanceApprovals)
    for (const worker of started.workers ?? []) core.jobs.add(worker)
    core.recordImports.push(...(started.recordImports ?? []))
    return started
  })
}

export function handleMembersOf(started: readonly StartedFeature[]): HandleMembers {
  return started.reduce<HandleMembers>((members, { handle }) => ({ ...members, ...handle }), {})
}
