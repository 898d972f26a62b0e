/** `/moves/<actor>/claim`, for programs: what came along with an actor, and taking it by a new passphrase. */
import type { Actors } from '../../../actor/actors.ts'
import { ServiceError } from '../../../errors.ts'
import { optional, parsedField, stringField } from '../../../json/fields.ts'
import { elements, stringValue } from '../../../json/json.ts'
import type { ArrivalClaims, ReaderChoice } from '../../../moving/claims.ts'
import { readersWith } from '../../../moving/arrived-readers.ts'
import type { Table, WithTables } from '../../../table/table.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { jsonBody } from '../../dispatch/request-body.ts'
import type { Route } from '../../dispatch/route.ts'
import { errorResponses } from '../../dispatch/schemas.ts'
import { opensPagesByPassphrase, type ProviderDeps } from '../../dispatch/sign-in-address.ts'
import { json } from '../../edge/response.ts'

export interface MoveClaimApiDeps extends ProviderDeps, WithTables {
  readonly arrivalClaims: Pick<ArrivalClaims, 'findByCode' | 'readers' | 'takeByPassphrase'>
  readonly actors: Pick<Actors, 'require'>
}

const code = stringField('The code of the link of the old service')

const readersSchema = (tables: readonly Table[]) => ({
  type: 'object',
  required: ['from', 'version', 'readers'],
  properties: {
    from: { type: 'string', description: 'The address at the old service' },
    version: { type: 'string', description: 'Names this list, for `keep`: `all`' },
    readers: {
      type: 'array',
      items: {
        type: 'object',
        required: ['key', 'kind', 'id', 'name', 'address', 'relationship', 'has_own_rights'],
        properties: {
          key: { type: 'string', description: 'For `keep`. A reader that changes gets another key' },
          kind: { enum: readersWith(tables).map(({ kind }) => kind) },
          id: { type: 'string' },
          name: { type: 'string', description: 'As the old service states it; empty for none' },
          address: {
            type: 'string',
            description: 'Where it receives data, or the address of the trustee. Empty for an invitation',
          },
          relationship: {
            type: 'string',
            description: 'The trust type of a relationship or an invitation; empty for other readers',
          },
          has_own_rights: { type: 'boolean', description: 'Whether it has rights besides those of its trust type' },
        },
      },
    },
  },
})

const takenSchema = {
  type: 'object',
  required: ['creator', 'passphrase'],
  properties: { creator: { type: 'string' }, passphrase: { type: 'string' } },
} as const

const keepField = parsedField<'all' | readonly string[]>(
  {
    description: '`all` of the list with this `version`, or keys of the list. Default: nothing is kept',
    oneOf: [{ const: 'all' }, { type: 'array', items: { type: 'string' } }],
  },
  '"all" or an array of keys',
  (value) => {
    if (stringValue(value) === 'all') return 'all'
    const keys = elements(value)?.map(stringValue)
    return keys?.every((key) => key !== null) ? keys : undefined
  },
)

export function moveClaimApiRoutes({ arrivalClaims, actors, providers, tables }: MoveClaimApiDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getArrivedReaders',
      method: 'GET',
      path: '/moves/:actor/claim/readers',
      access: 'service',
      limit: ['sign_in/source', 'sign_in/total'],
      summary: 'What came along with an actor that can read it, such as relationships and its trustee',
      query: { code },
      responses: { 200: { text: 'The readers', schema: readersSchema(tables) }, ...errorResponses(400, 403, 409, 429) },
      handler: async ({ params, query }) => {
        const found = await arrivalClaims.findByCode(params.actor, query.code)
        if (found === null) throw new ServiceError('forbidden', 'This link is not valid, or was used')
        if (!found.isHere) throw new ServiceError('conflict', 'This account is not here yet')
        const { readers, version } = await arrivalClaims.readers(params.actor)
        const shown = readers.map(({ hasOwnRights, ...reader }) => ({ ...reader, has_own_rights: hasOwnRights }))
        return json(200, { from: found.originUrl, version, readers: shown })
      },
    }),
    defineRoute({
      id: 'takeArrivedActor',
      method: 'POST',
      path: '/moves/:actor/claim/passphrase',
      access: 'service',
      // The code is the credential, and no cookie.
      takesForeignPosts: true,
      limit: ['sign_in/source', 'sign_in/total'],
      summary: 'Gives the actor a new passphrase, where a passphrase opens the pages. What is not kept is ended',
      request: jsonBody('take this account', {
        code,
        keep: optional(keepField),
        version: optional(stringField('The `version` of the list, with `keep`: `all`')),
      }),
      responses: {
        200: { text: 'The new passphrase, shown once', schema: takenSchema },
        ...errorResponses(400, 403, 408, 409, 413, 415, 429, 503),
      },
      handler: async ({ params, body }) => {
        const { code: sent, keep = [], version = '' } = await body()
        if (!opensPagesByPassphrase({ providers }))
          throw new ServiceError('forbidden', 'This service has other ways to sign in')
        const choice: ReaderChoice = keep === 'all' ? { allOf: version } : { keys: keep }
        const passphrase = await arrivalClaims.takeByPassphrase(params.actor, sent, choice)
        return json(200, { creator: (await actors.require(params.actor)).creator, passphrase })
      },
    }),
  ]
}
