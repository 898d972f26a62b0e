/** Checks the routes of features that an application adds. */
import { ConfigError } from '../config/config-error.ts'
import type { Feature, RouteFacts } from '../features/feature.ts'
import { builtInFeatures } from '../features/list.ts'
import type { Route } from '../http/dispatch/route.ts'
import { documentedCoreRoutes } from './all-routes.ts'

/** @throws ConfigError when a route has an id, or begins like a route, of the service or of another feature. */
export function requireOwnRoutes(features: readonly Feature[], facts: RouteFacts): void {
  const own = features.filter((feature) => !builtInFeatures.includes(feature))
  if (own.length === 0) return
  const others = features.filter((feature) => !own.includes(feature))
  const owners = new Map<string, string>()
  for (const route of documentedCoreRoutes(
    facts,
    others.flatMap((feature) => feature.documentedRoutes(facts)),
  ))
    for (const name of namesOf(route)) owners.set(name, 'the service')
  for (const feature of own) {
    const taken = new Map(owners)
    for (const route of feature.documentedRoutes(facts)) {
      if (!isLiteral(route))
        throw new ConfigError(
          `Cannot use the feature ${feature.name}: the path ${route.path} must have a name behind the actor.`,
        )
      for (const name of namesOf(route)) {
        const owner = taken.get(name)
        if (owner !== undefined)
          throw new ConfigError(`Cannot use the feature ${feature.name}: ${owner} has ${name} already.`)
        owners.set(name, `the feature ${feature.name}`)
      }
    }
  }
}

/** The first segments of its path behind the actor: two for pages. */
function beginningOf({ path }: Route): readonly string[] {
  const [, , first = '', second = ''] = path.split('/')
  return first === 'www' ? [first, second] : [first]
}

function isLiteral(route: Route): boolean {
  return beginningOf(route).every((segment) => /^[a-z][a-z0-9_-]*$/.test(segment))
}

/** The beginning of its path, and its id. */
function namesOf(route: Route): readonly string[] {
  const beginning = route.path.startsWith('/:actor/') ? [`routes below /{actor}/${beginningOf(route).join('/')}`] : []
  return [...beginning, `the route ${route.id}`]
}
