/** Converts refused sign-ins to errors of the token endpoint. */
import { ServiceError } from '../../errors.ts'
import { SignInRefusal } from '../../sign-in/refusal.ts'

const codes = { 400: 'bad_request', 401: 'unauthorized', 403: 'forbidden' } as const

/** Awaits a sign-in. @throws ServiceError with the status of the token endpoint for a SignInRefusal. */
export async function asGrant<T>(signIn: Promise<T>): Promise<T> {
  try {
    return await signIn
  } catch (error) {
    if (!(error instanceof SignInRefusal)) throw error
    const { grant, text } = error.response
    throw new ServiceError(codes[grant], text, {
      cause: error,
      reason: error.detail.reason,
      ...(grant === 401 ? { headers: { 'WWW-Authenticate': 'Bearer' } } : {}),
    })
  }
}
