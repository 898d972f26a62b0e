/** `/<actor>/trust/trustee`: the actor whose companion this actor is. */
import type { Actors } from '../../../actor/actors.ts'
import { requestFieldsOf, textField } from '../../../trust/fields.ts'
import { type Answer, noContent } from '../../edge/response.ts'
import { type BodyLimits, readJson } from '../../edge/body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, writeErrors } from '../../dispatch/schemas.ts'

const path = '/:actor/trust/trustee'

export interface TrusteeRouteDeps {
  readonly actors: Actors
  readonly config: BodyLimits
}

export function trusteeRoutes(deps: TrusteeRouteDeps): readonly Route[] {
  return [
    {
      id: 'putTrustee',
      method: 'PUT',
      path,
      access: 'trust',
      summary: 'Says whose companion the actor is',
      request: {
        'application/json': {
          type: 'object',
          properties: { trustee_root: { type: 'string' }, creator: { type: 'string' } },
        },
      },
      responses: { 204: 'Done', ...writeErrors },
      handler: (exchange) => putTrustee(deps, exchange),
    },
    {
      id: 'deleteTrustee',
      method: 'DELETE',
      path,
      access: 'trust',
      summary: 'The actor is nobody’s companion any more',
      responses: { 204: 'Done', ...actorErrors },
      handler: async ({ actor }) => {
        await deps.actors.setTrustee(actor.id, { trusteeRoot: null })
        return noContent()
      },
    },
  ]
}

async function putTrustee(deps: TrusteeRouteDeps, { actor, request }: ActorExchange): Promise<Answer> {
  const what = 'set the trustee'
  const fields = requestFieldsOf(await readJson(request, deps.config), what)
  const trusteeRoot = textField(fields, 'trustee_root', what)
  const creator = textField(fields, 'creator', what)
  await deps.actors.setTrustee(actor.id, {
    trusteeRoot: trusteeRoot === '' ? null : trusteeRoot,
    creator,
  })
  return noContent()
}
