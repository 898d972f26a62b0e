/** Which method a request means: HEAD is GET, and `_method` may stand for a method that a form or link cannot send. */
import { ServiceError } from '../../errors.ts'
import { type BodyLimits, readFormText } from '../edge/body.ts'
import type { HttpRequest } from '../edge/request.ts'
import { maxFormFields, Params } from '../edge/params.ts'
import type { Method } from './route.ts'

const served: readonly string[] = ['GET', 'POST', 'PUT', 'DELETE']
/** Methods of HTTP that no path takes: they are known, so the answer is 405 and not 501. */
const knownOnly: readonly string[] = ['OPTIONS', 'PATCH', 'TRACE', 'CONNECT']

/** @returns null for a known method that no route takes. @throws ServiceError `not_implemented` for an unknown one. */
export function methodOf(request: HttpRequest): Method | null {
  if (request.method === 'HEAD') return 'GET'
  const method = served.find((name) => name === request.method)
  if (method !== undefined) return method as Method
  if (knownOnly.includes(request.method)) return null
  throw new ServiceError('not_implemented', 'Cannot serve this request: the method is not known')
}

/**
 * The method that `_method` names. On GET it counts only beside an Authorization header that a program set: a link that
 * another site planted carries the cookie, and in a browser also the Basic credentials that the browser remembers. On POST
 * it is a form's field, where the rule against forged forms applies as to any POST.
 */
export async function overriddenMethod(
  request: HttpRequest,
  query: Params,
  limits: BodyLimits,
): Promise<Method | null> {
  if (request.method === 'GET') {
    const authorization = request.header('authorization')
    // A browser opens a link out of a mail this way, and adds the Basic credentials by itself.
    const isRemembered = request.header('sec-fetch-site') === 'none' && /^basic /i.test(authorization ?? '')
    return authorization === undefined || isRemembered ? null : toMethod(query.get('_method'))
  }
  if (request.method !== 'POST') return null
  const text = await readFormText(request, limits)
  return text?.includes('_method=') === true ? toMethod(Params.parse(text, maxFormFields, 'form').get('_method')) : null
}

function toMethod(name: string | undefined): Method | null {
  return (served.find((method) => method === name) as Method | undefined) ?? null
}
