/** Connected apps and sessions. */
import type { PageGroup } from '../shared/page-group.ts'
import { appPageRoutes } from './routes.ts'
import { appsPage } from './view.ts'

export const apps = {
  section: { path: '/apps', label: 'apps', icon: 'apps' },
  pages: [{ name: 'apps', template: 'aw-actor-www-apps.html', view: appsPage }],
  routes: appPageRoutes,
} as const satisfies PageGroup
