/** Interface of the grants at `/oauth/spa/token`. Each grant has its own file here, and `grants.ts` lists them. */
import type { RequestFields, ValuesOf } from '../../json/fields.ts'
import type { IssuedTokens } from '../../token/chain.ts'
import type { Params } from '../../http/edge/params.ts'
import type { VisitorExchange } from '../../http/dispatch/route.ts'
import { readSpaFields } from '../spa-body.ts'

export type SpaGrantRequest = Pick<VisitorExchange, 'request' | 'source' | 'charge' | 'visitor'>

export interface SpaGranted {
  readonly tokens: IssuedTokens
  /** Further members of the response body, in every delivery. */
  readonly members: object
}

export interface SpaGrant {
  readonly fields: RequestFields
  /** Issues tokens. @throws ServiceError when it refuses, before any token is issued. */
  readonly run: (request: SpaGrantRequest, sent: Params) => Promise<SpaGranted>
}

/** Creates a grant whose function receives the values of its fields. */
export function spaGrant<F extends RequestFields>(
  fields: F,
  run: (request: SpaGrantRequest, values: ValuesOf<F>) => Promise<SpaGranted>,
): SpaGrant {
  return { fields, run: async (request, sent) => run(request, readSpaFields(fields, sent)) }
}
