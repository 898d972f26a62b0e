/** The history of changes, and the forms that take changes back. */
import type { PageGroup } from '../shared/page-group.ts'
import { historyPageRoutes } from './routes.ts'
import { historyPage } from './view.ts'
import { undoPage } from './undo-view.ts'

export const history = {
  pages: [
    { name: 'history', template: 'aw-actor-www-history.html', view: historyPage },
    { name: 'undo', template: 'aw-actor-www-undo.html', view: undoPage },
  ],
  routes: historyPageRoutes,
} as const satisfies PageGroup
