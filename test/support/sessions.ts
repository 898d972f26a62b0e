/** Creates sessions of owners, as a sign-in does. */
import assert from 'node:assert/strict'
import type { TestActor, TestService } from './service.ts'

/** Signs the owner in and returns the access token of the new session. @param userAgent Names the device. */
export async function signIn(service: TestService, { id, passphrase }: TestActor, userAgent = ''): Promise<string> {
  const answer = await service.request('/oauth/spa/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(userAgent === '' ? {} : { 'user-agent': userAgent }) },
    body: JSON.stringify({ grant_type: 'passphrase', actor_id: id, passphrase }),
  })
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { access_token: string }).access_token
}

/** The `Accept` header that a browser sends when a person opens a URL. */
export const asBrowser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

/** The cookies of an answer. The request that a notice offers to take back is `<request>`. */
export function cookiesOf(answer: Response): string[] {
  return answer.headers
    .getSetCookie()
    .map((cookie) => cookie.replace(/^(troupe-notice=\w+)\.[0-9a-f-]{36};/, '$1.<request>;'))
}

/** Sends requests like a browser of the owner: with its cookie, and from a page of the service. */
export class OwnersBrowser {
  readonly #service: TestService
  readonly actor: TestActor
  readonly token: string

  private constructor(service: TestService, actor: TestActor, token: string) {
    this.#service = service
    this.actor = actor
    this.token = token
  }

  static async open(service: TestService, actor: TestActor, userAgent = ''): Promise<OwnersBrowser> {
    return new OwnersBrowser(service, actor, await signIn(service, actor, userAgent))
  }

  get headers(): Record<string, string> {
    return { ...asBrowser, cookie: `oauth_token=${this.token}` }
  }

  /** @param path The path below `/<actor>/www`. */
  async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.#service.request(`/${this.actor.id}/www${path}`, { headers: { ...this.headers, ...headers } })
  }

  /** Sends a form, from a page of the service unless the headers say otherwise. */
  async send(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' },
  ): Promise<Response> {
    return this.#service.request(`/${this.actor.id}/www${path}`, {
      method: 'POST',
      headers: { ...this.headers, 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields),
    })
  }
}
