/** The features of one service: their order, and what they add together. */
import type { Table } from '../table/table.ts'
import type { Core, OutsideCheck, Feature, HandleMembers, StartedFeature } from './feature.ts'
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

/** The tables of the features of the service, for commands that start no service. */
export const builtInTables: readonly Table[] = tablesOfFeatures(builtInFeatures)

export const builtInChecks: readonly OutsideCheck[] = builtInFeatures.flatMap(({ checks }) => checks)

/** Starts the features, in their order, and connects them with the core. */
export function startFeatures(features: readonly Feature[], core: Core): readonly StartedFeature[] {
  return orderedFeatures(features).map((feature) => {
    const started = feature.start(core)
    if (started.changeSink !== undefined) core.changeSinks.push(started.changeSink)
    for (const worker of started.workers ?? []) core.jobs.add(worker)
    core.recordImports.push(...(started.recordImports ?? []))
    return started
  })
}

export function handleMembersOf(started: readonly StartedFeature[]): HandleMembers {
  return started.reduce<HandleMembers>((members, { handle }) => ({ ...members, ...handle }), {})
}
