/** The stream of changes that open pages listen to. */
import type { PageGroup } from '../shared/page-group.ts'
import { livePageRoutes } from './routes.ts'

export const live = {
  pages: [],
  routes: livePageRoutes,
} as const satisfies PageGroup
