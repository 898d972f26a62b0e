/** Where a browser goes that has to sign in first (decision 1). */
import type { Credential } from '../auth/credentials.ts'
import { type Answer, redirect } from './answer.ts'
import { endedSessionCookie } from './cookies.ts'
import type { Exchange } from './route.ts'

const vary = { Vary: 'Accept' }

/** The page where one chooses. */
export function toLogin({ parts }: Pick<Exchange, 'parts'>): Answer {
  return redirect(302, `${parts.baseUrl}/login`, vary)
}

/**
 * Where exactly one provider is configured there is nothing to choose: the browser goes on to it, and comes back here. A
 * form goes no further than to the page where one chooses: browsers keep it from leaving this service (`form-action`).
 */
export function toSignIn({ parts, request, params }: Exchange): Answer {
  if (request.method === 'POST') return toLogin({ parts })
  // Who says who one is, in development, is nobody's provider; a provider of phones is none for this browser.
  const [only, ...others] = parts.providers.all.filter(({ kind, platform }) => kind !== 'local' && platform === 'web')
  if (only === undefined || others.length > 0) return toLogin({ parts })
  const asked = request.method === 'GET' ? `${request.path}${request.query === '' ? '' : `?${request.query}`}` : null
  const query = new URLSearchParams({
    actor: params['actor'] ?? '',
    ...(asked === null ? {} : { redirect: asked }),
  })
  return redirect(302, `${parts.baseUrl}/oauth/login/${encodeURIComponent(only.name)}?${query.toString()}`, vary)
}

/** A cookie that opens nothing any more is taken away; that of another actor's session stays what it is. */
export async function withoutDeadCookie(answer: Answer, credential: Credential, { parts }: Exchange): Promise<Answer> {
  if (credential.kind !== 'bearer' || credential.via !== 'cookie') return answer
  if ((await parts.tokens.validate(credential.token)) !== null) return answer
  return { ...answer, cookies: [...(answer.cookies ?? []), endedSessionCookie()] }
}
