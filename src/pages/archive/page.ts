/** Imports an archive into the actor. */
import type { PageGroup } from '../shared/page-group.ts'
import { importPageRoutes } from './routes.ts'
import { importPage } from './view.ts'

export const archive = {
  pages: [{ name: 'import', template: 'aw-actor-www-import.html', view: importPage }],
  routes: importPageRoutes,
} as const satisfies PageGroup
