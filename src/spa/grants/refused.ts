/** What the token endpoint says where nobody was signed in. */
import { ServiceError } from '../../errors.ts'
import { SignInRefusal } from '../../sign-in/refusal.ts'

const codes = { 400: 'bad_request', 401: 'unauthorized', 403: 'forbidden' } as const

/** @throws ServiceError with the status of the token endpoint in place of a refusal. */
export async function asGrant<T>(signIn: Promise<T>): Promise<T> {
  try {
    return await signIn
  } catch (error) {
    if (!(error instanceof SignInRefusal)) throw error
    const { grant, text } = error.told
    throw new ServiceError(codes[grant], text, {
      cause: error,
      reason: error.detail.reason,
      ...(grant === 401 ? { headers: { 'WWW-Authenticate': 'Bearer' } } : {}),
    })
  }
}
