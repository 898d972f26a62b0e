/**
 * Authorizes peers whose secret may be gone with the relationship or subscription that they ask about. An answer depends on
 * stored things only after authentication, so that strangers do not learn who is related (docs/decisions/118).
 */
import type { Caller } from '../../../caller.ts'
import { ServiceError } from '../../../errors.ts'
import type { OpenExchange } from '../../dispatch/route.ts'

/**
 * Authorizes the caller.
 *
 * @param requireStored Throws `not_found` for a caller with an unknown token, who is otherwise `forbidden`: a peer needs the
 *   404 to end its side.
 * @throws ServiceError as `authorized`, and as `requireStored`
 */
export async function authorizedOrGone(
  exchange: Pick<OpenExchange, 'authenticated' | 'authorized' | 'request'>,
  requireStored: () => Promise<unknown>,
): Promise<Caller> {
  try {
    return await exchange.authorized()
  } catch (error) {
    if (await hasUnknownToken(exchange)) await requireStored()
    throw error
  }
}

async function hasUnknownToken({
  authenticated,
  request,
}: Pick<OpenExchange, 'authenticated' | 'request'>): Promise<boolean> {
  if (!/^bearer +\S/i.test(request.header('authorization') ?? '')) return false
  return authenticated().then(
    () => false,
    (error: unknown) => error instanceof ServiceError && error.code === 'forbidden',
  )
}
