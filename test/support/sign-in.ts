/** A browser at a service whose people sign in at a real OpenID provider. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after } from 'node:test'
import { openid } from '../../src/index.ts'
import { type IdentityProvider, startIdentityProvider, type PersonClaims } from './identity-provider.ts'
import type { StartOptions, TestService } from './service.ts'
import { type Dump, dumpStore } from './store-dump.ts'

/** Keeps the cookies of one service, and follows nothing. */
export class TestBrowser {
  readonly service: TestService
  readonly cookies = new Map<string, string>()
  /** The lines of Set-Cookie of the last answer. */
  lastCookies: readonly string[] = []

  constructor(service: TestService) {
    this.service = service
  }

  /** As somebody who follows a link from `from`; an address of the service may be absolute. */
  async get(address: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.#send(address, { method: 'GET', headers: { accept: 'text/html', ...this.#cookie(), ...headers } })
  }

  /** A form of the service's own page, unless the headers say otherwise. */
  async post(
    address: string,
    form: Record<string, string> | URLSearchParams,
    from: Record<string, string> = { 'sec-fetch-site': 'same-origin' },
  ): Promise<Response> {
    const headers = { accept: 'text/html', ...from, ...this.#cookie() }
    return this.#send(address, { method: 'POST', headers, body: new URLSearchParams(form) })
  }

  /** A script of the service's own page. */
  async fetchJson(address: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
    return this.#send(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', ...this.#cookie(), ...headers },
      body: JSON.stringify(body),
    })
  }

  /** A form that a page of another site makes it post: cookies that are Lax stay at home. */
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
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split('=')
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return answer
  }
}

/** One provider for the tests of a file; it ends with them. */
export function sharedProvider(people: Readonly<Record<string, PersonClaims>> = {}): () => Promise<IdentityProvider> {
  let started: Promise<IdentityProvider> | undefined
  after(async () => (await started)?.close())
  return () => (started ??= startIdentityProvider({ people: { ...knownPeople, ...people } }))
}

/** A person of the provider whose address no other test uses. */
export function newPerson(provider: IdentityProvider): { readonly sub: string; readonly email: string } {
  const sub = randomUUID()
  const email = `${sub}@example.com`
  provider.people.set(sub, { email, email_verified: true })
  return { sub, email }
}

/** The provider's page where the sign-in of a single-page application goes on. */
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

/** Signs the person in to a single-page application. The parameters that the application gets back. */
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
  unverified: { email: 'victim@example.com', email_verified: false, name: 'Nobody Vouches' },
  silent: { name: 'Without Address' },
}

/** `signIn` of a service: the provider under the name `acme`, and whatever else it is called. */
export function signInAt(provider: IdentityProvider, ...more: readonly Partial<Parameters<typeof openid>[0]>[]) {
  const { issuer, clientId, clientSecret } = provider
  const all = [{}, ...more].map((settings) =>
    openid({ name: 'acme', issuer, clientId, clientSecret, displayName: 'Acme', ...settings }),
  )
  return { signIn: all } satisfies StartOptions
}

/** From the button to the answer of the callback. */
export async function signIn(
  browser: TestBrowser,
  provider: IdentityProvider,
  sub: string,
  begin = '/oauth/login/acme',
): Promise<Response> {
  return browser.get((await wayBack(browser, provider, sub, begin)).href)
}

/** The address that the provider sends the browser back to, not opened yet. */
export async function wayBack(
  browser: TestBrowser,
  provider: IdentityProvider,
  sub: string,
  begin = '/oauth/login/acme',
): Promise<URL> {
  const begun = await browser.get(begin)
  if (begun.status !== 302) throw new Error(`Nothing begins: ${begun.status} ${await begun.text()}`)
  return (await provider.signIn(begun.headers.get('location') ?? '', sub)).url
}

/** The id of the actor whose page an answer leads to. */
export function actorIn(answer: Response): string {
  return /^[^/]+:\/\/[^/]+\/([0-9a-f]{32})\//.exec(answer.headers.get('location') ?? '')?.[1] ?? ''
}

/** Everything that is stored but what is good once, which a refusal may use up. */
export async function peopleStored(service: TestService): Promise<Dump> {
  const { store } = await service.app.running()
  const { one_time: _states, rate_limit: _counters, ...rest } = await dumpStore(store)
  return rest
}

/** Runs `work` and holds it to having made, linked and given out nothing. */
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

/** In order of their number: who came first is nobody's concern. */
export function statusesOf(answers: readonly Response[]): number[] {
  return answers.map(({ status }) => status).sort((one, other) => one - other)
}
