/** The audit log. */
import type { PageGroup } from '../shared/page-group.ts'
import { activityPage } from './view.ts'
import { type ActivityPageDeps, activityQuery, showActivity } from './activity-page.ts'
import { exportActivity, exportQuery } from './export.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { errorResponses, pageResponses } from '../../http/dispatch/schemas.ts'

function activityPageRoutes(deps: ActivityPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'activityPage',
      method: 'GET',
      path: '/:actor/www/activity',
      access: 'www',
      summary: 'Who did what with the actor, in words, the latest first',
      query: activityQuery,
      responses: { ...pageResponses, ...errorResponses(400) },
      handler: (exchange) => showActivity(deps, exchange),
    }),
    defineRoute({
      id: 'activityExport',
      method: 'GET',
      path: '/:actor/www/activity/export',
      access: 'www',
      summary: 'The entries of the audit log as a file, the latest first',
      query: exportQuery,
      responses: { 200: 'A CSV or JSON file', ...errorResponses(400) },
      handler: (exchange) => exportActivity(deps, exchange),
    }),
  ]
}

export const activity = {
  section: { path: '/activity', label: 'activity', icon: 'activity' },
  pages: [{ name: 'activity', template: 'aw-actor-www-activity.html', view: activityPage }],
  routes: activityPageRoutes,
} as const satisfies PageGroup
