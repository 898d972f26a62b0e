/** `/<actor>/live`: the stream of an actor's changes, for applications of its owner. */
import type { Registry } from '../../../app/registry.ts'
import { type JsonText, known, members, object, stringText } from '../../../json/json.ts'
import { shownFacts } from '../../../property/property-hooks.ts'
import type { LiveChange } from '../../../live/live.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { liveResponse, type LiveStreamDeps } from '../../dispatch/live-stream.ts'
import type { Route } from '../../dispatch/route.ts'
import { errorResponses } from '../../dispatch/schemas.ts'

export interface LiveRouteDeps extends LiveStreamDeps {
  readonly registry: Pick<Registry, 'of'>
}

export function liveRoutes(deps: LiveRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'streamChanges',
      method: 'GET',
      path: '/:actor/live',
      access: 'activity',
      summary: 'A stream of the actor’s changes for its owner: a `ready` event, then `change` events',
      headers: { 'Last-Event-ID': 'The `id` of the last event that the client has. The stream continues after it' },
      responses: {
        200: {
          text: 'Server-sent events. The stream begins after the watch has begun, and ends with the credential',
          type: 'text/event-stream',
        },
        ...errorResponses(400, 401, 403, 404, 429),
      },
      handler: ({ request, actor, isStillOwner }) =>
        liveResponse(deps, {
          request,
          actorId: actor.id,
          isGood: isStillOwner,
          dataOf: (change) => dataOf(deps.registry.of(actor), change),
        }),
    }),
  ]
}

function dataOf(registry: Pick<Registry, 'propertyHooks'>, { category, name, number, detail }: LiveChange): JsonText {
  const about = detail === '' ? [] : [...(members(known(detail)) ?? [])]
  return object([
    ['category', stringText(category)],
    ['name', stringText(name)],
    ['number', known(String(number))],
    ...(category === 'properties' ? shownFacts(registry, name, about) : about),
  ])
}
