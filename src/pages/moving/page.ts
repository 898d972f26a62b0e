/** Moves an account to another service, and takes one that came from there. */
import type { PageGroup } from '../shared/page-group.ts'
import { arrivalPage } from './arrival-view.ts'
import { movePageRoutes } from './routes.ts'
import { movePage } from './view.ts'

export const moving = {
  pages: [
    { name: 'move', template: 'aw-actor-www-move.html', view: movePage },
    { name: 'arrival', template: 'aw-moves-claim.html', view: arrivalPage },
  ],
  routes: movePageRoutes,
} as const satisfies PageGroup
