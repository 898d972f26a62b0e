/** The files of the actor. */
import type { PageGroup } from '../../../pages/shared/page-group.ts'
import { filePageRoutes } from './routes.ts'
import { filesPage } from './view.ts'

export const files = {
  section: { path: '/files', label: 'files', icon: 'files' },
  pages: [{ name: 'files', template: 'aw-actor-www-files.html', view: filesPage }],
  routes: filePageRoutes,
} as const satisfies PageGroup
