/** The overview of an actor. */
import type { PageGroup } from '../shared/page-group.ts'
import { homePageRoutes } from './routes.ts'
import { dashboardPage } from './dashboard.ts'
import { initPage } from './first-steps.ts'
import { overviewStyle } from './style.ts'

export const home = {
  section: { path: '', label: 'overview', icon: 'home' },
  pages: [
    { name: 'dashboard', template: 'aw-actor-www-root.html', view: dashboardPage },
    { name: 'init', template: 'aw-actor-www-init.html', view: initPage },
  ],
  styles: [overviewStyle],
  routes: homePageRoutes,
} as const satisfies PageGroup
