/** The whole route table for documents. None of its handlers may run. */
import type { Feature, RouteFacts } from '../features/feature.ts'
import { orderedFeatures, tablesOfFeatures } from '../features/features.ts'
import { builtInFeatures } from '../features/list.ts'
import type { Route } from '../http/dispatch/route.ts'
import { documentedCoreRoutes } from './all-routes.ts'

export function documentedRoutes(
  without: Omit<RouteFacts, 'tables'>,
  features: readonly Feature[] = builtInFeatures,
): readonly Route[] {
  const facts = { ...without, tables: tablesOfFeatures(features) }
  return documentedCoreRoutes(
    facts,
    orderedFeatures(features).flatMap((feature) => feature.documentedRoutes(facts)),
  )
}
