/** The parts that all kinds of sessions of a client share: the state, the page of the browser, and requests for a sign-in. */
import type { AccessCredentials } from './connection.ts'
import { failureOf, unreachable } from './request-failed.ts'

/** The state of a session. @public */
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

/** The session of one client. */
export interface SessionSource extends AccessCredentials {
  readonly state: SessionState
  /** Ends a sign-in that returned to this page, or restores the session. Further calls return the same session. */
  restore(): Promise<ClientSession>
  /** Sends the browser to the sign-in, which sends it back to `returnTo`. Default: the page itself. */
  signIn(provider?: string, target?: { readonly returnTo?: string }): Promise<void>
  signOut(): Promise<void>
}

/** The current session, and those who follow it. */
export class SessionState {
  readonly #listeners = new Set<(session: ClientSession) => void>()
  #current: ClientSession = { state: 'restoring' }

  get current(): ClientSession {
    return this.#current
  }

  /** Calls the listener after each change of the session. Returns the function that ends this. */
  readonly onChange = (listener: (session: ClientSession) => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  set(session: ClientSession): ClientSession {
    this.#current = session
    for (const listener of this.#listeners) listener(session)
    return session
  }

  /** The session could not be restored. */
  fail(error: unknown): void {
    this.set({ state: 'unreachable', reason: error instanceof Error ? error.message : String(error) })
  }
}

/** The page in which the client runs. */
export interface BrowserPage {
  /** The address of the page. */
  readonly address: () => string
  /** Changes the address without loading a page. */
  readonly rename: (address: string) => void
  readonly open: (address: string) => void
  /** Keeps a text in this tab while it is at another address. Null: the browser forbids it. */
  readonly tab: TabStorage | null
}

/** The storage of a tab, such as `sessionStorage`. */
export interface TabStorage {
  getItem(name: string): string | null
  setItem(name: string, text: string): void
  removeItem(name: string): void
}

/** Sends a request to a path of the service, with the cookies of the browser. @throws RequestFailed `unreachable` */
export type SendToService = (
  method: string,
  path: string,
  body?: object,
  headers?: Readonly<Record<string, string>>,
) => Promise<Response>

/** @param url the base URL of the service, without a trailing slash. */
export function serviceSender(url: string, send: typeof fetch): SendToService {
  return async (method, path, body, headers = {}) => {
    const content = body === undefined ? {} : { body: JSON.stringify(body) }
    const typed = body === undefined ? headers : { ...headers, 'content-type': 'application/json' }
    try {
      return await send(url + path, {
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

/** The providers with which a person can sign in. */
export async function offeredProviders(send: SendToService): Promise<readonly OfferedProvider[]> {
  const response = await send('GET', '/oauth/spa/config')
  if (!response.ok) throw await failureOf(response)
  const body = (await response.json()) as {
    readonly oauth_providers: readonly { readonly name: string; readonly display_name: string }[]
  }
  return body.oauth_providers.map(({ name, display_name: displayName }) => ({ name, displayName }))
}
