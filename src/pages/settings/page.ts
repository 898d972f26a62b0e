/** The settings of an actor and of the browser that shows its pages. */
import type { PageGroup } from '../shared/page-group.ts'
import { settingsPageRoutes } from './routes.ts'
import { settingsPage } from './view.ts'

export const settings = {
  section: { path: '/settings', label: 'settings', icon: 'settings' },
  pages: [{ name: 'settings', template: 'aw-actor-www-settings.html', view: settingsPage }],
  routes: settingsPageRoutes,
} as const satisfies PageGroup
