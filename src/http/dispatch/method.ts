/** The effective method of a request: HEAD is GET, and `_method` names a method that a form or link cannot send. */
import { ServiceError } from '../../errors.ts'
import { type BodyLimits, readFormText } from '../edge/body.ts'
import type { HttpRequest } from '../edge/request.ts'
import { maxFormFields, Params } from '../edge/params.ts'
import type { Method } from './route.ts'

const served: readonly string[] = ['GET', 'POST', 'PUT', 'DELETE']
/** Known HTTP methods that no route serves. They get 405; an unknown method gets 501. */
const knownOnly: readonly string[] = ['OPTIONS', 'PATCH', 'TRACE', 'CONNECT']

/** @returns null for a known method that no route serves. @throws ServiceError `not_implemented` for an unknown method. */
export function methodOf(request: HttpRequest): Method | null {
  if (request.method === 'HEAD') return 'GET'
  const method = served.find((name) => name === request.method)
  if (method !== undefined) return method as Method
  if (knownOnly.includes(request.method)) return null
  throw new ServiceError('not_implemented', 'Cannot serve this request: the HTTP method is not supported')
}

/**
 * Returns the method that `_method` names. On GET it counts only with an Authorization header of a program, because a
 * browser follows a planted link with its cookies and remembered Basic credentials. On POST it is a form field, and the
 * CSRF check applies as to any POST.
 */
export function overriddenMethod(
  request: HttpRequest,
  query: Params,
  limits: BodyLimits,
): Promise<Method | null> | Method | null {
  switch (request.method) {
    case 'GET':
      return methodInQuery(request, query)
    case 'POST':
      return methodInForm(request, limits)
    default:
      return null
  }
}

function methodInQuery(request: HttpRequest, query: Params): Method | null {
  const method = toMethod(query.get('_method'))
  if (method === null) return null
  const authorization = request.header('authorization')
  // A browser opens a link from an email this way and adds remembered Basic credentials.
  const isRemembered = request.header('sec-fetch-site') === 'none' && /^basic /i.test(authorization ?? '')
  return authorization === undefined || isRemembered ? null : method
}

async function methodInForm(request: HttpRequest, limits: BodyLimits): Promise<Method | null> {
  const text = await readFormText(request, limits)
  return text?.includes('_method=') === true ? toMethod(Params.parse(text, maxFormFields, 'form').get('_method')) : null
}

function toMethod(name: string | undefined): Method | null {
  if (name === undefined) return null
  return (served.find((method) => method === name) as Method | undefined) ?? null
}
