/** A way to tokens at `/oauth/spa/token`: one file for each beside this one, all of them in `grants.ts`. */
import type { IssuedTokens } from '../../token/chain.ts'
import type { Params } from '../../http/edge/params.ts'
import type { VisitorExchange } from '../../http/dispatch/route.ts'

export interface SpaGrantRequest extends Pick<VisitorExchange, 'request' | 'source' | 'charge' | 'visitor'> {
  readonly fields: Params
}

export interface SpaGranted {
  readonly tokens: IssuedTokens
  /** What the answer has besides the tokens, in every delivery. */
  readonly members: object
}

/** @throws ServiceError for what is not granted; nothing was issued then. */
export type SpaGrant = (request: SpaGrantRequest) => Promise<SpaGranted>
