/** Routes of `/<actor>/www/activity`, the page of the audit log. */
import { activityQuery, type ActivityPageDeps, showActivity } from './activity-page.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { errorResponses, pageResponses } from '../../http/dispatch/schemas.ts'

export function activityPageRoutes(deps: ActivityPageDeps): readonly Route[] {
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
  ]
}
