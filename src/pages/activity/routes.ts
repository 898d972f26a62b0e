/** `/<actor>/www/activity`: the access ledger on a page. */
import { type ActivityPageDeps, showActivity } from './activity-page.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { errorResponses, pageResponses } from '../../http/dispatch/schemas.ts'

export function activityPageRoutes(deps: ActivityPageDeps): readonly Route[] {
  return [
    {
      id: 'activityPage',
      method: 'GET',
      path: '/:actor/www/activity',
      access: 'www',
      summary: 'Who did what with the actor, in words, the latest first',
      query: { caller: 'Only what this peer, client or address did', cursor: 'Of the link to what is older' },
      responses: { ...pageResponses, ...errorResponses(400) },
      handler: (exchange) => showActivity(deps, exchange),
    },
  ]
}
