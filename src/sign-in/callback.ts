/** The callback: reads the provider's authorization response and finishes the sign-in (WIRE-SIGNIN-01, R-OC-02). */
import { ServiceError } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import { hashSecret } from '../secret/hash.ts'
import type { Store } from '../store/store.ts'
import type { IssuedTokens } from '../token/chain.ts'
import type { OneTime } from '../token/one-time.ts'
import type { SpaSession } from '../token/spa-sessions.ts'
import type { Claims } from './account-linking.ts'
import type { Entered, SignInAttempt, SessionEntry } from './establish-session.ts'
import { type TokenDeliveryMode, type Flow, redirectUrlOf } from './flow.ts'
import type { FreeText } from './email-entry.ts'
import type { Person, Provider, Providers } from './provider.ts'
import { askProvider, SignInRefusal, unknownState, wrongState } from './refusal.ts'
import type { SafeTargets } from './safe-target.ts'
import type { Begun, States } from './states.ts'
import type { Tickets } from './tickets.ts'

/** The parameters of an authorization response (RFC 6749 section 4.1.2), from a query or a form. */
export interface AuthorizationResponse {
  readonly state?: string | undefined
  readonly code?: string | undefined
  readonly error?: string | undefined
  readonly errorDescription?: string | undefined
  /** `iss` (RFC 9207). */
  readonly issuer?: string | undefined
  /** The form field `user`. */
  readonly user?: string | undefined
}

/** The browser or application that sends the authorization response. */
export interface CallbackSender {
  /** The browser cookie. Null when the request has none. */
  readonly browser: string | null
  /** Description of the device, see `deviceOf`. */
  readonly device: string
  /** True for an application that reads the response itself, instead of a browser that follows redirects. */
  readonly wantsJson: boolean
}

export type Ending =
  /** Signed in on the web: set the cookie and redirect to a path of this host, or to the actor's page when null. */
  | { readonly kind: 'web'; readonly tokens: IssuedTokens; readonly redirect: string | null }
  /** A page asks for an email address; `session` identifies it. */
  | { readonly kind: 'address-needed'; readonly session: string }
  /** A page asks whether an actor that was created without proof belongs to the person. */
  | { readonly kind: 'claim-needed'; readonly claim: string }
  /** Redirect to the application. */
  | { readonly kind: 'redirect'; readonly location: string; readonly refreshFor: IssuedTokens | null }
  /** The application reads the tokens in this response. */
  | {
      readonly kind: 'inline'
      readonly tokens: IssuedTokens
      readonly delivery: TokenDeliveryMode
      readonly redirectUrl: string
    }

export interface CallbackDeps {
  readonly store: Store
  readonly log: Log
  readonly oneTime: OneTime
  readonly providers: Providers
  readonly states: States
  readonly targets: SafeTargets
  readonly tickets: Tickets
  readonly entry: SessionEntry
  readonly freeText: FreeText
  readonly claims: Claims
}

type Posted = AuthorizationResponse & { readonly state: string }
type WebFlow = Extract<Flow, { readonly kind: 'web' }>
type SpaFlow = Extract<Flow, { readonly kind: 'spa' }>

export class SignInCallback {
  readonly #deps: CallbackDeps

  constructor(deps: CallbackDeps) {
    this.#deps = deps
  }

  /**
   * Finishes a sign-in by GET, from a provider that responds in the query.
   *
   * @throws ServiceError `bad_request` for a state that is invalid or belongs to another browser or provider; SignInRefusal.
   */
  async fromQuery(response: AuthorizationResponse, sender: CallbackSender): Promise<Ending> {
    const begun = await this.#consume(response.state, sender)
    if (this.#providerOf(begun).responseMode !== 'query') throw wrongState('the provider must respond by form_post')
    return this.#end(begun, response, sender)
  }

  /**
   * Accepts a form that the provider made the browser post. Such a request lacks the SameSite cookie that a
   * browser-bound state needs. So the response is stored, and a redirect to a GET fetches it with the cookie.
   *
   * @param name Name of the provider in the path.
   * @returns the handle of the stored response, or the ending.
   */
  async fromForm(
    name: string,
    response: AuthorizationResponse,
    sender: CallbackSender,
  ): Promise<Ending | { readonly kind: 'stored'; readonly handle: string }> {
    const { store, oneTime, states, providers } = this.#deps
    const provider = providers.find(name)
    if (provider === null || provider.responseMode !== 'form_post') {
      throw new ServiceError('not_found', 'There is nothing at this address')
    }
    const { state } = response
    if (state === undefined || !/^[\w-]{43}$/.test(state)) throw wrongState('it is missing or malformed')
    const begun = await states.peek(state, sender.browser)
    if (begun !== null) {
      if (this.#providerOf(begun).kind !== provider.kind) throw wrongState('it belongs to another provider')
      return this.#end(await this.#consume(state, sender), response, sender)
    }
    // Without its browser cookie, a valid state cannot be distinguished from an unknown one, so any response is stored.
    const posted: Posted = { ...response, state }
    const handle = await store.write((tx) =>
      oneTime.create(tx, { purpose: 'form_post', data: posted, provider: provider.kind }),
    )
    return { kind: 'stored', handle }
  }

  /** Finishes a sign-in by the GET after a form post: reads the stored response, now with the browser's cookie. */
  async fromHandle(handle: string, sender: CallbackSender): Promise<Ending> {
    const { store, oneTime } = this.#deps
    const posted = await store.write((tx) => oneTime.consume<Posted>(tx, { purpose: 'form_post', value: handle }))
    if (posted === null) throw wrongState('no response is stored for this handle')
    const begun = await this.#consume(posted.data.state, sender)
    if (this.#providerOf(begun).kind !== posted.provider) throw wrongState('it belongs to another provider')
    return this.#end(begun, posted.data, sender)
  }

  async #consume(state: string | undefined, { browser }: CallbackSender): Promise<Begun> {
    if (state === undefined) throw wrongState('it is missing')
    const begun = await this.#deps.states.consume(state, browser)
    if (begun === null) throw unknownState()
    return begun
  }

  #providerOf({ provider }: Begun): Provider {
    const found = this.#deps.providers.find(provider)
    if (found === null) throw wrongState('its provider is no longer configured')
    return found
  }

  async #end(begun: Begun, response: AuthorizationResponse, sender: CallbackSender): Promise<Ending> {
    const { flow } = begun
    if (response.error !== undefined) this.#reportRefusal(begun, response.error, response.errorDescription)
    if (flow.kind === 'web') {
      return flow.forClient
        ? this.#endForClient(begun, flow, response, sender)
        : this.#endOnWeb(begun, flow, response, sender)
    }
    const target = this.#targetOf(begun, flow, sender)
    if (target === null) return this.#endInline(begun, flow, response, sender)
    try {
      return await this.#endAtTarget(begun, flow, response, sender, target)
    } catch (error) {
      return this.#redirectError(error, target, response)
    }
  }

  /** Logs the provider's error. `access_denied` means that the person cancelled, so it needs no warning. */
  #reportRefusal({ provider }: Begun, code: string, description: string | undefined): void {
    const level = code === 'access_denied' ? 'info' : 'warn'
    const reason = description === undefined ? printable(code) : `${printable(code)}: ${printable(description)}`
    this.#deps.log[level]({ provider, failure: 'authorization', reason }, 'A sign-in provider refused or failed')
  }

  /** Sends refusals on to the OAuth client, which waits for a response (RFC 6749 section 4.1.2.1). */
  async #endForClient(
    begun: Begun,
    flow: WebFlow,
    response: AuthorizationResponse,
    sender: CallbackSender,
  ): Promise<Ending> {
    try {
      return await this.#endOnWeb(begun, flow, response, sender)
    } catch (error) {
      if (flow.redirect === null || !(error instanceof Cancelled || error instanceof SignInRefusal)) throw error
      const reason = error instanceof Cancelled ? error.errorCode : error.why
      this.#deps.log.info({ reason }, 'A sign-in for a client was refused')
      return merged(new URL(flow.redirect, this.#deps.targets.root).href, { error: reason })
    }
  }

  async #endOnWeb(
    begun: Begun,
    flow: WebFlow,
    response: AuthorizationResponse,
    sender: CallbackSender,
  ): Promise<Ending> {
    const { entry, claims, freeText } = this.#deps
    const person = await this.#personOf(begun, response)
    const { expectedActorId, expectedIdentifier, claimed = null } = flow
    const attempt: SignInAttempt = {
      ...this.#attempt(begun, person, sender),
      beganWith: 'web',
      expectedActorId,
      expectedIdentifier,
      claimed,
      asksFirst: true,
      needsAddress: flow.forClient,
    }
    const entering = await entry.enter(attempt)
    switch (entering.kind) {
      case 'entered':
        return { kind: 'web', tokens: entering.tokens, redirect: this.#pathAfter(entering, flow) }
      case 'address-needed':
        return { kind: 'address-needed', session: await freeText.begin(this.#asking(begun, person), sender.browser) }
      case 'claim-needed': {
        const { identifier } = entering
        const waiting = { person, provider: attempt.provider, identifier, redirect: flow.redirect }
        return { kind: 'claim-needed', claim: await claims.begin(waiting, sender.browser) }
      }
      default:
        return entering satisfies never
    }
  }

  #pathAfter({ actor, isAway }: Entered, { redirect }: WebFlow): string | null {
    if (isAway !== true) return this.#pathOf(redirect)
    return new URL(`${actor.id}/www/move`, this.#deps.targets.root).pathname
  }

  /** Checks the target again, because the configuration may have changed since the sign-in began. */
  #pathOf(redirect: string | null): string | null {
    return redirect === null ? null : this.#deps.targets.parsePath(redirect)
  }

  /** Returns null when the application reads the response itself. The service root replaces a target that is no longer safe. */
  #targetOf(begun: Begun, flow: SpaFlow, { wantsJson }: CallbackSender): string | null {
    const { targets } = this.#deps
    const provider = this.#providerOf(begun)
    if (isMobile(provider) && provider.deepLink !== null) return provider.deepLink
    return flow.target === null || wantsJson ? null : (targets.parse(flow.target) ?? targets.root)
  }

  async #endAtTarget(
    begun: Begun,
    flow: SpaFlow,
    response: AuthorizationResponse,
    sender: CallbackSender,
    target: string,
  ): Promise<Ending> {
    const { entry, freeText } = this.#deps
    const code = codeOf(response)
    const provider = this.#providerOf(begun)
    const isTicket = (isMobile(provider) && provider.deepLink !== null) || begun.codeVerifier === null
    if (isTicket) {
      const ticket = await this.#deps.tickets.issue({
        begun,
        code,
        ...optional('user', response.user),
        ...optional('issuer', response.issuer),
      })
      return back(target, { ticket })
    }
    const person = await this.#personOf(begun, response)
    const { trustType } = flow
    const entering = await entry.enter({ ...this.#attempt(begun, person, sender), beganWith: 'spa', trustType })
    if (entering.kind === 'claim-needed') throw new Error('Cannot link an account in a sign-in for an application')
    if (entering.kind === 'address-needed') {
      const session = await freeText.begin(this.#asking(begun, person), begun.isBound ? sender.browser : null)
      return back(target, { email_required: 'true', session, ...this.#proof(response) })
    }
    const { tokens, actor } = entering
    const session = await this.#storeSession(
      {
        tokens,
        delivery: flow.delivery,
        redirectUrl: redirectUrlOf(flow.returnPath, actor.id),
        begunIn: begun.isBound && sender.browser !== null ? hashSecret(sender.browser) : null,
      },
      begun.isBound && this.#deps.targets.isOwn(target) ? sender.browser : null,
    )
    return {
      ...back(target, { session, ...this.#proof(response) }),
      refreshFor: begun.isBound && flow.delivery === 'hybrid' ? tokens : null,
    }
  }

  /**
   * Returns the state of the sign-in. A link with a one-time id works in any browser for pages of other sites, so the
   * application must compare the state with its own to recognize the response to its request.
   */
  #proof({ state }: AuthorizationResponse): Record<string, string> {
    return state === undefined ? {} : { state }
  }

  async #storeSession(session: SpaSession, browser: string | null): Promise<string> {
    const { store, oneTime } = this.#deps
    return store.write((tx) => oneTime.create(tx, { purpose: 'spa_session', data: session, browser }))
  }

  async #endInline(
    begun: Begun,
    flow: SpaFlow,
    response: AuthorizationResponse,
    sender: CallbackSender,
  ): Promise<Ending> {
    const { entry, freeText } = this.#deps
    codeOf(response)
    if (begun.codeVerifier === null) {
      throw new ServiceError(
        'bad_request',
        'Cannot redeem the code here: the application has the code verifier; redeem the code at /oauth/spa/token',
      )
    }
    if (!begun.isBound && flow.delivery !== 'json') {
      throw new ServiceError('bad_request', 'Cannot set cookies here: this browser did not begin the sign-in')
    }
    const person = await this.#personOf(begun, response)
    const { trustType } = flow
    const entering = await entry.enter({ ...this.#attempt(begun, person, sender), beganWith: 'spa', trustType })
    if (entering.kind === 'claim-needed') throw new Error('Cannot link an account in a sign-in for an application')
    if (entering.kind === 'address-needed') {
      const session = await freeText.begin(this.#asking(begun, person), begun.isBound ? sender.browser : null)
      return { kind: 'address-needed', session }
    }
    const { tokens, actor } = entering
    const redirectUrl = redirectUrlOf(flow.returnPath, actor.id)
    return { kind: 'inline', tokens, delivery: flow.delivery, redirectUrl }
  }

  async #personOf(begun: Begun, response: AuthorizationResponse): Promise<Person> {
    const code = codeOf(response)
    const { codeVerifier, nonce } = begun
    const exchange = {
      code,
      codeVerifier,
      nonce,
      ...optional('issuer', response.issuer),
      ...optional('user', response.user),
    }
    return askProvider(this.#providerOf(begun).exchange(exchange))
  }

  #attempt(begun: Begun, person: Person, { device }: CallbackSender): Omit<SignInAttempt, 'beganWith'> {
    return { person, provider: this.#providerOf(begun).kind, device }
  }

  #asking(begun: Begun, person: Person): Parameters<FreeText['begin']>[0] {
    const { kind, displayName } = this.#providerOf(begun)
    return { person, provider: kind, displayName, flow: begun.flow }
  }

  /** Redirects with an error. An error of the provider extends the target's query; our own errors replace the query. */
  #redirectError(error: unknown, target: string, response: AuthorizationResponse): Ending {
    const state = this.#proof(response)
    if (error instanceof Cancelled) {
      return merged(target, { error: error.errorCode, ...optional('error_description', error.description), ...state })
    }
    if (error instanceof SignInRefusal) {
      this.#deps.log.info({ why: error.why, reason: error.detail.reason }, 'A sign-in was refused')
      return back(target, { error: error.response.spa, error_description: error.message, ...state })
    }
    if (error instanceof ServiceError && error.status < 500) {
      return back(target, { error: 'invalid_request', error_description: error.message, ...state })
    }
    this.#deps.log.error({ error }, 'A sign-in failed')
    return back(target, { error: 'server_error', error_description: 'The service failed', ...state })
  }
}

/** The provider responded with an error, usually because the person cancelled. */
class Cancelled extends ServiceError {
  readonly errorCode: string
  readonly description: string | undefined

  constructor(code: string, description: string | undefined) {
    super('bad_request', `Cannot sign you in: the provider reported ${printable(code)}`)
    this.errorCode = printable(code)
    this.description = description === undefined ? undefined : printable(description)
  }
}

function codeOf({ error, errorDescription, code }: AuthorizationResponse): string {
  if (error !== undefined) throw new Cancelled(error, errorDescription)
  if (code === undefined) throw new ServiceError('bad_request', 'Cannot sign you in: the provider sent no code')
  return code
}

/** Reduces a foreign string to one short line, before it is passed on (RFC 6749 section 4.1.2.1). */
function printable(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{C}\s]+/gu, ' ')
    .slice(0, 300)
}

function back(target: string, query: Readonly<Record<string, string>>): Extract<Ending, { kind: 'redirect' }> {
  const url = new URL(target)
  url.search = new URLSearchParams(query).toString()
  return { kind: 'redirect', location: url.href, refreshFor: null }
}

function merged(target: string, query: Readonly<Record<string, string>>): Extract<Ending, { kind: 'redirect' }> {
  const url = new URL(target)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return { kind: 'redirect', location: url.href, refreshFor: null }
}

function isMobile({ name }: Provider): boolean {
  return name.endsWith('-mobile')
}

function optional<K extends string>(key: K, value: string | undefined): { readonly [key in K]?: string } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [key in K]?: string }
}
