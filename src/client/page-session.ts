/** The session of a client whose person signs in on the pages of the service. A cookie of the browser authorizes its requests. */
import type { AccessCredential } from './connection.ts'
import { failureOf, memberOf, RequestFailed } from './request-failed.ts'
import {
  type BrowserPage,
  type ClientSession,
  type SendToService,
  type SessionSource,
  SessionState,
} from './session-state.ts'

export interface PageSessionDeps {
  /** The base URL of the service, without a trailing slash. */
  readonly url: string
  readonly send: SendToService
  readonly browser: BrowserPage
}

export class PageSession implements SessionSource {
  readonly state = new SessionState()
  readonly #deps: PageSessionDeps
  #restoring: Promise<ClientSession> | null = null

  constructor(deps: PageSessionDeps) {
    this.#deps = deps
  }

  restore(): Promise<ClientSession> {
    this.#restoring ??= this.#restore()
    return this.#restoring
  }

  async #restore(): Promise<ClientSession> {
    try {
      const response = await this.#deps.send('GET', '/oauth/session')
      if (!response.ok) throw await failureOf(response)
      const actorId = memberOf(await response.json(), 'actor_id')
      return this.state.set(actorId === undefined ? { state: 'signed-out' } : { state: 'signed-in', actorId })
    } catch (error) {
      this.#restoring = null
      this.state.fail(error)
      throw error
    }
  }

  // The pages offer all providers, so the person chooses there.
  async signIn(_provider?: string, { returnTo }: { readonly returnTo?: string } = {}): Promise<void> {
    const { url, browser } = this.#deps
    const { pathname, search } = new URL(returnTo ?? browser.address(), browser.address())
    browser.open(`${url}/login?redirect=${encodeURIComponent(pathname + search)}`)
  }

  async signOut(): Promise<void> {
    const response = await this.#deps.send('POST', '/oauth/logout', {})
    if (!response.ok) throw await failureOf(response)
    this.state.set({ state: 'signed-out' })
  }

  async tokens(): Promise<AccessCredential> {
    await this.restore()
    const { current } = this.state
    if (current.state === 'signed-in') return { accessToken: null, actorId: current.actorId }
    throw new RequestFailed('Cannot send the request: no person is signed in', { code: 'signed_out', status: 401 })
  }

  /** A refused cookie has ended: nothing renews it but another sign-in. */
  async renew(): Promise<null> {
    this.state.set({ state: 'signed-out' })
    return null
  }
}
