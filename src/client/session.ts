/** The session of a client: tokens in memory, their renewal, and the sign-in through the browser. */
import { failureOf, memberOf, RequestFailed, unreachable } from './request-failed.ts'

/** The state of a session. */
export type ClientSession =
  /** `restore` has not finished. */
  | { readonly state: 'restoring' }
  /** The session could not be restored. The next call of `restore` tries again. */
  | { readonly state: 'unreachable'; readonly reason: string }
  /** `reason`: why the last sign-in failed, for the person. */
  | { readonly state: 'signed-out'; readonly reason?: string }
  /** The provider confirmed no address, so the person types one. */
  | { readonly state: 'email-required'; readonly enter: (email: string) => Promise<ClientSession> }
  | { readonly state: 'signed-in'; readonly actorId: string }

export interface OfferedProvider {
  readonly name: string
  readonly displayName: string
}

/** Keeps the refresh token where the service has no cookie: in a native application, a command, or on another site. */
export interface TokenStorage {
  get(): string | null | Promise<string | null>
  set(refreshToken: string | null): void | Promise<void>
}

/** The page in which the client runs. */
export interface BrowserPage {
  /** The address of the page. */
  readonly address: () => string
  /** Changes the address without loading a page. */
  readonly rename: (address: string) => void
  readonly open: (address: string) => void
}

export interface SessionDeps {
  /** The base URL of the service, without a trailing slash. */
  readonly url: string
  readonly fetch: typeof fetch
  readonly storage: TokenStorage | null
  /** Null outside of a browser. */
  readonly browser: BrowserPage | null
}

interface Tokens {
  readonly accessToken: string
  readonly actorId: string
}

export class SessionKeeper {
  readonly #deps: SessionDeps
  readonly #delivery: 'hybrid' | 'json'
  readonly #listeners = new Set<(session: ClientSession) => void>()
  #session: ClientSession = { state: 'restoring' }
  #tokens: Tokens | null = null
  #restoring: Promise<ClientSession> | null = null
  #renewing: Promise<Tokens | null> | null = null

  constructor(deps: SessionDeps) {
    this.#deps = deps
    this.#delivery = deps.storage === null ? 'hybrid' : 'json'
  }

  get session(): ClientSession {
    return this.#session
  }

  /** Calls the listener after each change of the session. Returns the function that ends this. */
  onChange(listener: (session: ClientSession) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Ends a sign-in that returned to this page, or restores the session. Further calls return the same session. */
  restore(): Promise<ClientSession> {
    this.#restoring ??= this.#restore()
    return this.#restoring
  }

  async #restore(): Promise<ClientSession> {
    try {
      const parameters = new URL(this.#deps.browser?.address() ?? this.#deps.url).searchParams
      const id = parameters.get('session')
      if (id !== null && parameters.get('email_required') === 'true') return this.#askEmail(id)
      if (id !== null) return await this.#exchange(id)
      const refused = parameters.get('error_description') ?? parameters.get('error')
      if (refused !== null) return this.#end(refused)
      return (await this.#renew()) === null ? this.#set({ state: 'signed-out' }) : this.#session
    } catch (error) {
      this.#restoring = null
      this.#set({ state: 'unreachable', reason: error instanceof Error ? error.message : String(error) })
      throw error
    }
  }

  /** Exchanges the one-time id that the callback put into the address of the page. */
  async #exchange(id: string): Promise<ClientSession> {
    const response = await this.#send('GET', `/oauth/spa/session/${encodeURIComponent(id)}`)
    // A reloaded page presents its id again, and its session exists already.
    if (!response.ok && (await this.#renew()) !== null) return this.#tidy(null)
    if (!response.ok) return this.#end((await failureOf(response)).message)
    return this.#accept(await response.json())
  }

  #askEmail(id: string): ClientSession {
    return this.#set({
      state: 'email-required',
      enter: async (email) => {
        const response = await this.#send('POST', '/oauth/email', { session: id, email })
        if (!response.ok) throw await failureOf(response)
        return this.#accept(await response.json())
      },
    })
  }

  async #accept(body: unknown): Promise<ClientSession> {
    await this.#keep(body)
    return this.#tidy(memberOf(body, 'redirect_url') ?? null)
  }

  /** Removes the parameters of the sign-in from the address of the page. */
  #tidy(address: string | null): ClientSession {
    const { browser } = this.#deps
    if (browser !== null) browser.rename(address ?? browser.address().replace(/\?.*$/, ''))
    return this.#session
  }

  #end(reason: string): ClientSession {
    this.#tidy(null)
    return this.#set({ state: 'signed-out', reason })
  }

  /** Stores the tokens of a response. */
  async #keep(body: unknown): Promise<Tokens> {
    const accessToken = memberOf(body, 'access_token')
    const actorId = memberOf(body, 'actor_id')
    if (accessToken === undefined || actorId === undefined)
      throw new RequestFailed('The service sent no access token', { code: 'no_token', body })
    await this.#deps.storage?.set(memberOf(body, 'refresh_token') ?? null)
    this.#tokens = { accessToken, actorId }
    if (this.#session.state !== 'signed-in' || this.#session.actorId !== actorId)
      this.#set({ state: 'signed-in', actorId })
    return this.#tokens
  }

  #set(session: ClientSession): ClientSession {
    this.#session = session
    for (const listener of this.#listeners) listener(session)
    return session
  }

  async providers(): Promise<readonly OfferedProvider[]> {
    const response = await this.#send('GET', '/oauth/spa/config')
    if (!response.ok) throw await failureOf(response)
    const body = (await response.json()) as {
      readonly oauth_providers: readonly { readonly name: string; readonly display_name: string }[]
    }
    return body.oauth_providers.map(({ name, display_name: displayName }) => ({ name, displayName }))
  }

  /** Sends the browser to the provider, which sends it back to `returnTo`. Default: the page itself. */
  async signIn(provider?: string, { returnTo }: { readonly returnTo?: string } = {}): Promise<void> {
    const { browser } = this.#deps
    if (browser === null)
      throw new RequestFailed('Cannot sign in: the client does not run in a browser', { code: 'no_browser' })
    const page = new URL(returnTo ?? browser.address().replace(/[?#].*$/, ''), browser.address())
    const response = await this.#send('POST', '/oauth/spa/authorize', {
      ...(provider === undefined ? {} : { provider }),
      redirect_uri: page.href,
      token_delivery: this.#delivery,
    })
    if (!response.ok) throw await failureOf(response)
    browser.open(memberOf(await response.json(), 'authorization_url') ?? '')
  }

  async signOut(): Promise<void> {
    const token = this.#tokens?.accessToken
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await this.#send('POST', '/oauth/spa/logout', {}, headers)
    if (!response.ok && response.status !== 401) throw await failureOf(response)
    await this.#forget()
  }

  async #forget(): Promise<void> {
    this.#tokens = null
    await this.#deps.storage?.set(null)
    this.#set({ state: 'signed-out' })
  }

  /** Returns valid tokens. @throws RequestFailed `signed_out` */
  async tokens(): Promise<Tokens> {
    await this.restore()
    if (this.#tokens === null)
      throw new RequestFailed('Cannot send the request: no person is signed in', { code: 'signed_out', status: 401 })
    return this.#tokens
  }

  /** Replaces the tokens that a request was refused with. Returns null when the session has ended. */
  async renew(refused: Tokens): Promise<Tokens | null> {
    if (this.#tokens !== refused) return this.#tokens
    const renewed = await this.#renew()
    if (renewed === null && this.#tokens === refused) await this.#forget()
    return renewed
  }

  /** Requests new tokens, once for all calls that wait. */
  #renew(): Promise<Tokens | null> {
    this.#renewing ??= this.#refresh().finally(() => {
      this.#renewing = null
    })
    return this.#renewing
  }

  async #refresh(): Promise<Tokens | null> {
    const { storage } = this.#deps
    const stored = (await storage?.get()) ?? null
    if (storage !== null && stored === null) return null
    const response = await this.#send('POST', '/oauth/spa/token', {
      grant_type: 'refresh_token',
      token_delivery: this.#delivery,
      ...(stored === null ? {} : { refresh_token: stored }),
    })
    if (response.ok) return this.#keep(await response.json())
    // 400: the refresh token is missing. 401: it is invalid. Every other failure may pass, so the session is kept.
    if (response.status !== 400 && response.status !== 401) throw await failureOf(response)
    return null
  }

  async #send(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Response> {
    const content = body === undefined ? {} : { body: JSON.stringify(body) }
    const typed = body === undefined ? headers : { ...headers, 'content-type': 'application/json' }
    try {
      return await this.#deps.fetch(this.#deps.url + path, {
        method,
        headers: { accept: 'application/json', ...typed },
        credentials: 'include',
        ...content,
      })
    } catch (error) {
      throw unreachable(error)
    }
  }
}
