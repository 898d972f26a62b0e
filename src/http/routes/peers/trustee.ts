/** `/<actor>/trust/trustee`: the actor whose companion this actor is. */
import type { ActorActs } from '../../../actor/acts.ts'
import { optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import { type HttpResponse, noContent } from '../../edge/response.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { jsonBody } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, writeErrors } from '../../dispatch/schemas.ts'

const path = '/:actor/trust/trustee'

const trusteeFields = {
  trustee_root: optional(stringField('The URL of the trustee; empty for none')),
  creator: optional(stringField('The new creator of this actor')),
}

export interface TrusteeRouteDeps {
  readonly actorActs: ActorActs
}

export function trusteeRoutes(deps: TrusteeRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'putTrustee',
      method: 'PUT',
      path,
      access: 'trust',
      freshSignIn: 'all',
      summary: 'Sets the trustee of the actor',
      request: jsonBody('set the trustee', trusteeFields),
      responses: { 204: 'Done', ...writeErrors },
      handler: async (exchange) => putTrustee(deps, exchange, await exchange.body()),
    }),
    defineRoute({
      id: 'deleteTrustee',
      method: 'DELETE',
      path,
      access: 'trust',
      summary: 'Removes the trustee of the actor',
      responses: { 204: 'Done', ...actorErrors },
      handler: async (exchange) => {
        await deps.actorActs.removeTrustee(exchange)
        return noContent()
      },
    }),
  ]
}

async function putTrustee(
  deps: TrusteeRouteDeps,
  exchange: ActorExchange,
  { trustee_root: trusteeRoot, creator }: ValuesOf<typeof trusteeFields>,
): Promise<HttpResponse> {
  await deps.actorActs.setTrustee(exchange, {
    trusteeRoot: trusteeRoot === '' ? null : trusteeRoot,
    creator,
  })
  return noContent()
}
