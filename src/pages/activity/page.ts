/** The audit log. */
import type { PageGroup } from '../shared/page-group.ts'
import { activityPageRoutes } from './routes.ts'
import { activityPage } from './view.ts'

export const activity = {
  section: { path: '/activity', label: 'activity', icon: 'activity' },
  pages: [{ name: 'activity', template: 'aw-actor-www-activity.html', view: activityPage }],
  routes: activityPageRoutes,
} as const satisfies PageGroup
