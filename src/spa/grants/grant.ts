/** A way to tokens at `/oauth/spa/token`: one file for each beside this one, all of them in `grants.ts`. */
import type { RequestFields, ValuesOf } from '../../json/fields.ts'
import type { IssuedTokens } from '../../token/chain.ts'
import type { Params } from '../../http/edge/params.ts'
import type { VisitorExchange } from '../../http/dispatch/route.ts'
import { readSpaFields } from '../spa-body.ts'

export type SpaGrantRequest = Pick<VisitorExchange, 'request' | 'source' | 'charge' | 'visitor'>

export interface SpaGranted {
  readonly tokens: IssuedTokens
  /** What the answer has besides the tokens, in every delivery. */
  readonly members: object
}

export interface SpaGrant {
  readonly fields: RequestFields
  /** @throws ServiceError for what is not granted; nothing was issued then. */
  readonly run: (request: SpaGrantRequest, sent: Params) => Promise<SpaGranted>
}

/** A grant that gets the values of its own fields. */
export function spaGrant<F extends RequestFields>(
  fields: F,
  run: (request: SpaGrantRequest, values: ValuesOf<F>) => Promise<SpaGranted>,
): SpaGrant {
  return { fields, run: async (request, sent) => run(request, readSpaFields(fields, sent)) }
}
