/** A browser for several services at one host. As the standard says, it shares cookies among all ports and paths of the host. */
import { readSetCookie } from '../../src/testing/browser.ts'
import type { IdentityProvider } from './identity-provider.ts'
import type { TestService } from './service.ts'
import { asBrowser } from './sessions.ts'

interface Kept {
  readonly value: string
  /** The service or program that set the cookie. */
  readonly owner: unknown
}

export class HostBrowser {
  readonly #jar = new Map<string, Kept>()
  /** Cookies that a service changed although another one had set them. */
  readonly intrusions: string[] = []
  /** Every `Set-Cookie` value of the services. */
  readonly lines: string[] = []

  /** Another program at the host, such as one at another port, sets a cookie. */
  plant(name: string, value: string, owner: unknown = 'another program'): void {
    this.#jar.set(name, { value, owner })
  }

  value(name: string): string | undefined {
    return this.#jar.get(name)?.value
  }

  async send(service: TestService, method: string, path: string, body?: object | URLSearchParams): Promise<Response> {
    const cookie = [...this.#jar].map(([name, { value }]) => `${name}=${value}`).join('; ')
    const isForm = body === undefined || body instanceof URLSearchParams
    const response = await service.request(path, {
      method,
      headers: {
        ...(isForm ? asBrowser : { 'content-type': 'application/json' }),
        ...(cookie === '' ? {} : { cookie }),
        'sec-fetch-site': 'same-origin',
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    })
    for (const line of response.headers.getSetCookie()) this.#keep(service, line)
    return response
  }

  /** Signs in on the pages, from the button to the callback. */
  async signIn(service: TestService, provider: IdentityProvider, sub: string): Promise<Response> {
    const begun = await this.send(service, 'GET', '/oauth/login/acme')
    const { url } = await provider.signIn(begun.headers.get('location') ?? '', sub)
    return this.send(service, 'GET', url.href.slice(service.url.length))
  }

  async isSignedIn(service: TestService): Promise<boolean> {
    const session = await this.send(service, 'GET', '/oauth/session')
    return ((await session.json()) as { authenticated: boolean }).authenticated
  }

  #keep(service: TestService, line: string): void {
    this.lines.push(line)
    const { name, value } = readSetCookie(line)
    const kept = this.#jar.get(name)
    if (kept !== undefined && kept.owner !== service) this.intrusions.push(`${service.url}: ${line}`)
    // WebKit keeps no Secure cookie of plain http, not even of localhost.
    const isSecure = /;\s*secure/i.test(line)
    if (isSecure && service.url.startsWith('http:')) return
    if (name.startsWith('__Host-') && !(isSecure && /;\s*path=\/(?:;|$)/i.test(line) && !/;\s*domain=/i.test(line)))
      return
    if (value === '') this.#jar.delete(name)
    else this.#jar.set(name, { value, owner: service })
  }
}
