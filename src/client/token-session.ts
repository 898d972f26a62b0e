/** The session of a client that has tokens: they are in memory, and the client renews them. */
import type { AccessCredential } from './connection.ts'
import { failureOf, memberOf, RequestFailed } from './request-failed.ts'
import {
  type BrowserPage,
  type ClientSession,
  type SendToService,
  type SessionSource,
  SessionState,
} from './session-state.ts'

/**
 * Keeps the refresh token where the service has no cookie: in a native application, a command, or on another site.
 *
 * @public
 */
export interface TokenStorage {
  get(): string | null | Promise<string | null>
  set(refreshToken: string | null): void | Promise<void>
}

export interface TokenSessionDeps {
  /** The base URL of the service. */
  readonly url: string
  readonly send: SendToService
  readonly storage: TokenStorage | null
  /** Null outside of a browser. */
  readonly browser: BrowserPage | null
}

export class TokenSession implements SessionSource {
  readonly state = new SessionState()
  readonly #deps: TokenSessionDeps
  readonly #delivery: 'hybrid' | 'json'
  #tokens: AccessCredential | null = null
  #restoring: Promise<ClientSession> | null = null
  #renewing: Promise<AccessCredential | null> | null = null

  constructor(deps: TokenSessionDeps) {
    this.#deps = deps
    this.#delivery = deps.storage === null ? 'hybrid' : 'json'
  }

  restore(): Promise<ClientSession> {
    this.#restoring ??= this.#restore()
    return this.#restoring
  }

  async #restore(): Promise<ClientSession> {
    try {
      const parameters = this.#response()
      const id = parameters.get('session')
      if (id !== null && parameters.get('email_required') === 'true') return this.#askEmail(id)
      if (id !== null) return await this.#exchange(id)
      const refused = parameters.get('error_description') ?? parameters.get('error')
      if (refused !== null) return this.#end(refused)
      return (await this.#renew()) === null ? this.state.set({ state: 'signed-out' }) : this.state.current
    } catch (error) {
      this.#restoring = null
      this.state.fail(error)
      throw error
    }
  }

  /**
   * Returns the parameters of the address that end a sign-in. Only the tab that began a sign-in has its state: anyone can
   * send a link with the one-time id of a sign-in of their own, or with an error message.
   */
  #response(): URLSearchParams {
    const { browser } = this.#deps
    const parameters = new URLSearchParams(browser === null ? '' : new URL(browser.address()).search)
    const state = parameters.get('state')
    if (state !== null && state === browser?.tab?.getItem(this.#pending)) return parameters
    if (parameters.has('session')) this.#tidy(null)
    return new URLSearchParams()
  }

  /** The name under which the tab keeps the state of the sign-in that it began. */
  get #pending(): string {
    return `troupe sign-in ${this.#deps.url}`
  }

  /** Exchanges the one-time id that the callback put into the address of the page. */
  async #exchange(id: string): Promise<ClientSession> {
    const response = await this.#deps.send('GET', `/oauth/spa/session/${encodeURIComponent(id)}`)
    // A reloaded page presents its id again, and its session exists already.
    if (!response.ok && (await this.#renew()) !== null) return this.#finish(null)
    if (!response.ok) return this.#end((await failureOf(response)).message)
    return this.#accept(await response.json())
  }

  #askEmail(id: string): ClientSession {
    return this.state.set({
      state: 'email-required',
      enter: async (email) => {
        const response = await this.#deps.send('POST', '/oauth/email', { session: id, email })
        if (!response.ok) throw await failureOf(response)
        return this.#accept(await response.json())
      },
    })
  }

  async #accept(body: unknown): Promise<ClientSession> {
    await this.#keep(body)
    return this.#finish(memberOf(body, 'redirect_url') ?? null)
  }

  /** Ends the sign-in that this tab began. */
  #finish(address: string | null): ClientSession {
    this.#deps.browser?.tab?.removeItem(this.#pending)
    return this.#tidy(address)
  }

  /** Removes the parameters of the sign-in from the address of the page. */
  #tidy(address: string | null): ClientSession {
    const { browser } = this.#deps
    if (browser !== null) browser.rename(address ?? browser.address().replace(/\?.*/s, ''))
    return this.state.current
  }

  #end(reason: string): ClientSession {
    this.#finish(null)
    return this.state.set({ state: 'signed-out', reason })
  }

  /** Stores the tokens of a response. */
  async #keep(body: unknown): Promise<AccessCredential> {
    const accessToken = memberOf(body, 'access_token')
    const actorId = memberOf(body, 'actor_id')
    if (accessToken === undefined || actorId === undefined)
      throw new RequestFailed('The service sent no access token', { code: 'no_token', body })
    await this.#deps.storage?.set(memberOf(body, 'refresh_token') ?? null)
    this.#tokens = { accessToken, actorId }
    if (this.state.current.state !== 'signed-in' || this.state.current.actorId !== actorId)
      this.state.set({ state: 'signed-in', actorId })
    return this.#tokens
  }

  async signIn(provider?: string, { returnTo }: { readonly returnTo?: string } = {}): Promise<void> {
    const { browser } = this.#deps
    if (browser === null)
      throw new RequestFailed('Cannot sign in: the client does not run in a browser', { code: 'no_browser' })
    const { tab } = browser
    if (tab === null)
      throw new RequestFailed('Cannot sign in: the browser forbids this page to store data', { code: 'no_storage' })
    const page = new URL(returnTo ?? browser.address().replace(/[?#].*/s, ''), browser.address())
    const response = await this.#deps.send('POST', '/oauth/spa/authorize', {
      ...(provider === undefined ? {} : { provider }),
      redirect_uri: page.href,
      token_delivery: this.#delivery,
    })
    if (!response.ok) throw await failureOf(response)
    const body: unknown = await response.json()
    const state = memberOf(body, 'state')
    if (state === undefined) throw new RequestFailed('The service sent no state', { code: 'no_state', body })
    tab.setItem(this.#pending, state)
    browser.open(memberOf(body, 'authorization_url') ?? '')
  }

  async signOut(): Promise<void> {
    const token = this.#tokens?.accessToken
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await this.#deps.send('POST', '/oauth/spa/logout', {}, headers)
    if (!response.ok && response.status !== 401) throw await failureOf(response)
    await this.#forget()
  }

  async #forget(): Promise<void> {
    this.#tokens = null
    await this.#deps.storage?.set(null)
    this.state.set({ state: 'signed-out' })
  }

  /** Returns valid tokens. @throws RequestFailed `signed_out` */
  async tokens(): Promise<AccessCredential> {
    await this.restore()
    if (this.#tokens === null)
      throw new RequestFailed('Cannot send the request: no person is signed in', { code: 'signed_out', status: 401 })
    return this.#tokens
  }

  /** Replaces the tokens that a request was refused with. Returns null when the session has ended. */
  async renew(refused: AccessCredential): Promise<AccessCredential | null> {
    if (this.#tokens !== refused) return this.#tokens
    const renewed = await this.#renew()
    if (renewed === null && this.#tokens === refused) await this.#forget()
    return renewed
  }

  /** Requests new tokens, once for all calls that wait. */
  #renew(): Promise<AccessCredential | null> {
    this.#renewing ??= this.#refresh().finally(() => {
      this.#renewing = null
    })
    return this.#renewing
  }

  async #refresh(): Promise<AccessCredential | null> {
    const { storage } = this.#deps
    const stored = (await storage?.get()) ?? null
    if (storage !== null && stored === null) return null
    const response = await this.#deps.send('POST', '/oauth/spa/token', {
      grant_type: 'refresh_token',
      token_delivery: this.#delivery,
      ...(stored === null ? {} : { refresh_token: stored }),
    })
    if (response.ok) return this.#keep(await response.json())
    // 400: the refresh token is missing. 401: it is invalid. Every other failure may pass, so the session is kept.
    if (response.status !== 400 && response.status !== 401) throw await failureOf(response)
    return null
  }
}
