/** A browser for tests in which users sign in at a real OpenID provider. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after } from 'node:test'
import { openid } from '../../src/index.ts'
import { readSetCookie } from '../../src/testing/browser.ts'
import { type IdentityProvider, startIdentityProvider, type PersonClaims } from './identity-provider.ts'
import type { StartOptions, TestService } from './service.ts'
import { type Dump, dumpStore } from './store-dump.ts'

/** A browser that keeps the cookies of one service and follows no redirects. */
export class TestBrowser {
  readonly service: TestService
  readonly cookies = new Map<string, string>()
  /** The Set-Cookie headers of the last response. */
  lastCookies: readonly string[] = []

  constructor(service: TestService) {
    this.service = service
  }

  /** Opens an address of the service, which may be absolute. */
  async get(address: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.#send(address, { method: 'GET', headers: { accept: 'text/html', ...this.#cookie(), ...headers } })
  }

  /** Submits a form from a page of the service. The headers may name another origin. */
  async post(
    address: string,
    form: Record<string, string> | URLSearchParams,
    from: Record<string, string> = { 'sec-fetch-site': 'same-origin' },
  ): Promise<Response> {
    const headers = { accept: 'text/html', ...from, ...this.#cookie() }
    return this.#send(address, { method: 'POST', headers, body: new URLSearchParams(form) })
  }

  /** Sends JSON as a script on a page of the service. */
  async fetchJson(address: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
    return this.#send(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', ...this.#cookie(), ...headers },
      body: JSON.stringify(body),
    })
  }

  /** Submits a form from a page of another site, so without SameSite=Lax cookies. */
  async postFromElsewhere(address: string, form: URLSearchParams): Promise<Response> {
    const headers = { accept: 'text/html', origin: 'https://provider.example', 'sec-fetch-site': 'cross-site' }
    return this.#send(address, { method: 'POST', headers, body: form })
  }

  #cookie(): Record<string, string> {
    return this.cookies.size === 0 ? {} : { cookie: [...this.cookies].map((pair) => pair.join('=')).join('; ') }
  }

  async #send(address: string, init: RequestInit): Promise<Response> {
    const path = address.startsWith(this.service.url) ? address.slice(this.service.url.length) : address
    const answer = await this.service.request(path, init)
    this.lastCookies = answer.headers.getSetCookie()
    for (const line of this.lastCookies) {
      const { name, value } = readSetCookie(line)
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return answer
  }
}

/** Shares one provider among the tests of a file, and closes it after them. */
export function sharedProvider(people: Readonly<Record<string, PersonClaims>> = {}): () => Promise<IdentityProvider> {
  let started: Promise<IdentityProvider> | undefined
  after(async () => (await started)?.close())
  return () => (started ??= startIdentityProvider({ people: { ...knownPeople, ...people } }))
}

/** Adds a person to the provider, with an address that no other test uses. */
export function newPerson(provider: IdentityProvider): { readonly sub: string; readonly email: string } {
  const sub = randomUUID()
  const email = `${sub}@example.com`
  provider.people.set(sub, { email, email_verified: true })
  return { sub, email }
}

/** Begins the sign-in of a single-page application, and returns the authorization URL of the provider. */
export async function beginSinglePage(
  service: TestService,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const begun = await service.request('/oauth/spa/authorize', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uri: 'https://app.example.com/', ...more }),
  })
  return ((await begun.json()) as { authorization_url: string }).authorization_url
}

/** Signs the person in to a single-page application, and returns the parameters that the application receives. */
export async function singlePageReturn(
  service: TestService,
  provider: IdentityProvider,
  sub: string,
  more: Readonly<Record<string, string>> = {},
): Promise<URLSearchParams> {
  const { url } = await provider.signIn(await beginSinglePage(service, more), sub)
  const back = await service.request(url.href.slice(service.url.length), { headers: { accept: 'text/html' } })
  return new URL(back.headers.get('location') ?? 'none:').searchParams
}

const knownPeople: Readonly<Record<string, PersonClaims>> = {
  ada: { email: 'ada@example.com', email_verified: true, name: 'Ada Lovelace' },
  bob: { email: 'bob@example.com', email_verified: true, given_name: 'Bob', family_name: 'Example' },
  unverified: { email: 'victim@example.com', email_verified: false, name: 'Not Verified' },
  silent: { name: 'Without Address' },
}

/** Returns the `signIn` option of a service, with the provider under the name `acme` and under further names. */
export function signInAt(provider: IdentityProvider, ...more: readonly Partial<Parameters<typeof openid>[0]>[]) {
  const { issuer, clientId, clientSecret } = provider
  const all = [{}, ...more].map((settings) =>
    openid({ name: 'acme', issuer, clientId, clientSecret, displayName: 'Acme', ...settings }),
  )
  return { signIn: all } satisfies StartOptions
}

/** Signs in, from the sign-in button to the response of the callback. */
export async function signIn(
  browser: TestBrowser,
  provider: IdentityProvider,
  sub: string,
  begin = '/oauth/login/acme',
): Promise<Response> {
  return browser.get((await wayBack(browser, provider, sub, begin)).href)
}

/** Signs in at the provider, and returns the callback URL without opening it. */
export async function wayBack(
  browser: TestBrowser,
  provider: IdentityProvider,
  sub: string,
  begin = '/oauth/login/acme',
): Promise<URL> {
  const begun = await browser.get(begin)
  if (begun.status !== 302) throw new Error(`Cannot begin the sign-in: ${begun.status} ${await begun.text()}`)
  return (await provider.signIn(begun.headers.get('location') ?? '', sub)).url
}

/** Returns the id of the actor in the Location of a response. */
export function actorIn(answer: Response): string {
  return /^[^/]+:\/\/[^/]+\/([0-9a-f]{32})\//.exec(answer.headers.get('location') ?? '')?.[1] ?? ''
}

/** Dumps all tables except one-time values and rate limits, which a refused request may change. */
export async function peopleStored(service: TestService): Promise<Dump> {
  const { store } = await service.app.running()
  const { one_time: _states, rate_limit: _counters, ...rest } = await dumpStore(store)
  return rest
}

/** Runs `work`, and requires that it signed no user in: no table changes, except those in `except`. */
export async function assertNoSignIn<T>(
  service: TestService,
  work: () => Promise<T>,
  except: readonly string[] = [],
): Promise<T> {
  const stored = async (): Promise<object> =>
    Object.fromEntries(Object.entries(await peopleStored(service)).filter(([table]) => !except.includes(table)))
  const before = await stored()
  const result = await work()
  assert.deepEqual(await stored(), before, 'something was stored')
  return result
}

/** Returns the statuses in ascending order, because parallel responses have no defined order. */
export function statusesOf(answers: readonly Response[]): number[] {
  return answers.map(({ status }) => status).sort((one, other) => one - other)
}
