/** The stream of changes that open pages listen to. */
import type { PageGroup } from '../shared/page-group.ts'
import type { LiveChange } from '../../live/live.ts'
import { liveResponse, type LiveStreamDeps } from '../../http/dispatch/live-stream.ts'
import { integerField, optional } from '../../json/fields.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { errorResponses } from '../../http/dispatch/schemas.ts'

function livePageRoutes(deps: LiveStreamDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'liveChanges',
      method: 'GET',
      path: '/:actor/www/live',
      access: 'www',
      servesMoving: true,
      query: {
        after: optional(
          integerField('The number of the last change that the page has, for a new stream', {
            least: 0,
            most: Number.MAX_SAFE_INTEGER,
          }),
        ),
      },
      summary: 'A stream of `change` events, each with category, name and number, for pages that are open',
      responses: {
        200: { text: 'The stream; it ends with the session', type: 'text/event-stream' },
        ...errorResponses(400, 401, 403, 404, 429),
      },
      handler: ({ request, query, actor, isStillOwner }) =>
        liveResponse(deps, { request, after: query.after, actorId: actor.id, isGood: isStillOwner, dataOf: nameOf }),
    }),
  ]
}

/** The name alone, because a page fetches itself again. */
function nameOf({ category, name, number }: LiveChange): string {
  return JSON.stringify({ category, name, number })
}

export const live = {
  pages: [],
  routes: livePageRoutes,
} as const satisfies PageGroup
