/** Connections of actors with third-party services: connects, uses and ends them. Tokens are sealed and never shown. */
import type { ServiceRequest } from '../app/service-declaration.ts'
import { createHash } from 'node:crypto'
import type { Timers } from '../timers.ts'
import { quoted, ServiceError } from '../errors.ts'
import type { PeerClient } from '../peer/peer-client.ts'
import { liesBelow } from '../peer/url-rules.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomToken } from '../secret/random.ts'
import { bindingOf, serviceTokens } from '../secret/sealed-columns.ts'
import { open, seal, type Sealed } from '../secret/sealed.ts'
import type { Store } from '../store/store.ts'
import type { OneTime } from '../token/one-time.ts'
import { storePatiently } from '../unsettled.ts'
import type { ThirdPartyService } from './configured.ts'
import {
  claimRefresh,
  deleteConnection,
  findConnection,
  findConnections,
  putConnection,
  releaseRefresh,
  replaceTokens,
  type StoredConnection,
} from './connection-store.ts'
import { failed, type Redeemed, type ServiceTokens, ServiceTokenEndpoint } from './token-endpoint.ts'

export interface ConnectionsDeps {
  readonly services: ReadonlyMap<string, ThirdPartyService>
  readonly store: Store
  readonly keyRing: KeyRing
  readonly oneTime: OneTime
  readonly client: PeerClient
  readonly now: () => number
  readonly timers: Timers
  readonly baseUrl: string
}

export interface ClientConnection {
  readonly service: string
  /** Null while the actor is not connected. */
  readonly connected: { readonly at: number; readonly expiresAt: number | null; readonly scope: string } | null
}

/** The authorization response that the browser brings back. */
export interface ConnectionResponse {
  readonly code: string | undefined
  readonly state: string | undefined
  readonly error: string | undefined
}

interface Pending {
  readonly verifier: string
  /** URL to which the browser continues. */
  readonly redirect: string | null
}

/** A token that expires within this time is refreshed before its use. */
const earlyMs = 30_000
const timeouts = { connectSeconds: 5, readSeconds: 30 }
const maxAnswerBytes = 16_777_216
/** Duration of a claim on a refresh token, longer than the timeout of the call. */
const holdMs = 40_000
const lookAgainMs = 100

export class Connections {
  readonly #deps: ConnectionsDeps
  readonly #tokens: ServiceTokenEndpoint
  /** Running refreshes, shared by concurrent callers, because many services accept a refresh token only once. */
  readonly #refreshing = new Map<string, Promise<string>>()

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps
    this.#tokens = new ServiceTokenEndpoint(deps.client, deps.now)
  }

  /** @throws ServiceError `not_found` for a service that is not configured. */
  require(name: string): ThirdPartyService {
    const service = this.#deps.services.get(name)
    if (service === undefined) throw new ServiceError('not_found', `The service ${quoted(name)} does not exist`)
    return service
  }

  /** Lists every configured service, connected or not. */
  async list(actorId: string): Promise<readonly ClientConnection[]> {
    const { services, store } = this.#deps
    const stored = services.size === 0 ? [] : await store.read((q) => findConnections(q, actorId))
    return [...services.keys()].map((service) => {
      const found = stored.find((connection) => connection.service === service)
      return { service, connected: found === undefined ? null : this.#shown(actorId, found) }
    })
  }

  async find(actorId: string, name: string): Promise<ClientConnection> {
    const { name: service } = this.require(name)
    const found = await this.#deps.store.read((q) => findConnection(q, actorId, service))
    return { service, connected: found === null ? null : this.#shown(actorId, found) }
  }

  #shown(actorId: string, stored: StoredConnection): ClientConnection['connected'] {
    const { expiresAt, scope } = this.#opened(actorId, stored)
    return { at: stored.connectedAt, expiresAt, scope }
  }

  /** Returns the service's authorization URL. The response is valid once, in this browser, for this actor. */
  async begin(actorId: string, name: string, by: { browser: string; redirect: string | null }): Promise<string> {
    const { store, oneTime } = this.#deps
    const service = this.require(name)
    const pending: Pending = { verifier: randomToken(32), redirect: by.redirect }
    const state = await store.write((tx) =>
      oneTime.create(tx, { purpose: 'service', provider: service.name, actorId, browser: by.browser, data: pending }),
    )
    const url = new URL(service.authorizationUrl)
    const parameters = {
      ...service.authorizationParameters,
      response_type: 'code',
      client_id: service.clientId,
      redirect_uri: this.#redirectUri(service, actorId),
      ...(service.scopes.length === 0 ? {} : { scope: service.scopes.join(' ') }),
      state,
      code_challenge: createHash('sha256').update(pending.verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }
    for (const [key, value] of Object.entries(parameters)) url.searchParams.set(key, value)
    return url.href
  }

  #redirectUri({ name, callback }: ThirdPartyService, actorId: string): string {
    const { baseUrl } = this.#deps
    return `${baseUrl}${callback === 'shared' ? '' : `/${actorId}`}/services/${name}/callback`
  }

  /** Returns the actor of a state. Null when the state is unknown, used, expired or another browser's. */
  async actorOf(name: string, state: string, browser: string | null): Promise<string | null> {
    const { store, oneTime } = this.#deps
    const { name: provider } = this.require(name)
    const presented = { purpose: 'service', value: state, provider, browser } as const
    return (await store.read((q) => oneTime.peek(q, presented)))?.actorId ?? null
  }

  /**
   * Redeems the authorization response and stores the tokens.
   *
   * @returns the URL to which the browser continues, or null when `begin` received none.
   * @throws ServiceError `bad_request` for a response without a code, `forbidden` for a response that this browser did not
   *   request for this actor, `service_failed`.
   */
  async finish(
    actorId: string,
    name: string,
    brought: ConnectionResponse,
    browser: string | null,
  ): Promise<string | null> {
    const { store, oneTime, now } = this.#deps
    const service = this.require(name)
    if (brought.state === undefined) {
      throw new ServiceError('bad_request', `Cannot connect ${service.name}: the response has no state`)
    }
    const presented = { purpose: 'service', value: brought.state, provider: service.name, browser } as const
    // The state is checked first, because nothing else in the response is trusted. Another actor's state is not consumed.
    const pending = await store.write(async (tx) => {
      const record = await oneTime.peek<Pending>(tx, presented)
      return record?.actorId === actorId ? oneTime.consume<Pending>(tx, presented) : null
    })
    if (pending === null) {
      throw new ServiceError(
        'forbidden',
        `Cannot connect ${service.name}: this browser has no pending request for it; connect again`,
        {
          reason: 'the state is unknown, used, expired, or bound to another browser or actor',
          needsBrowser: true,
        },
      )
    }
    if (brought.error !== undefined) {
      throw new ServiceError('bad_request', `Cannot connect ${service.name}: the authorization was refused there`, {
        reason: `${service.name}: ${brought.error.slice(0, 100)}`,
      })
    }
    if (brought.code === undefined) {
      throw new ServiceError('bad_request', `Cannot connect ${service.name}: the response has no code`)
    }
    const redeemed = await this.#tokens.redeem(service, {
      grant_type: 'authorization_code',
      code: brought.code,
      redirect_uri: this.#redirectUri(service, actorId),
      code_verifier: pending.data.verifier,
    })
    if (redeemed.kind === 'dead') throw failed(service, redeemed.reason)
    const tokens = this.#sealed(actorId, service, redeemed.tokens)
    await store.writeActor(actorId, (tx) =>
      putConnection(tx, actorId, { service: service.name, tokens, connectedAt: now() }),
    )
    return pending.data.redirect
  }

  /**
   * Deletes the connection, then revokes the token if the service has a revocation endpoint.
   *
   * @returns false when there was no connection.
   * @throws ServiceError `service_failed` when the revocation failed; the connection is deleted nevertheless.
   */
  async end(actorId: string, name: string): Promise<boolean> {
    const service = this.require(name)
    const stored = await this.#deps.store.writeActor(actorId, (tx) => deleteConnection(tx, actorId, service.name))
    if (stored === null) return false
    await this.#tokens.revoke(service, this.#open(actorId, service.name, stored))
    return true
  }

  /**
   * Returns a valid access token, and refreshes it if necessary.
   *
   * @throws ServiceError `not_connected`, also when the service no longer accepts the refresh token; `service_failed`.
   */
  async accessToken(actorId: string, name: string): Promise<string> {
    const service = this.require(name)
    const stored = await this.#deps.store.read((q) => findConnection(q, actorId, service.name))
    if (stored === null) throw notConnected(service)
    const { accessToken, expiresAt, refreshToken } = this.#opened(actorId, stored)
    const isGood = expiresAt === null || expiresAt - this.#deps.now() > earlyMs
    return isGood || refreshToken === null ? accessToken : this.#refreshOnce(actorId, service, stored.tokens)
  }

  /**
   * Calls the service as the actor. After a 401, refreshes the token once and repeats the call.
   *
   * @throws ServiceError `bad_request` for a URL outside of `apiUrls`, `not_connected`, `service_failed`.
   */
  async fetch(actorId: string, name: string, url: string, request: ServiceRequest = {}): Promise<Response> {
    const service = this.require(name)
    const parsed = URL.parse(url)
    const baseuri = parsed === null ? undefined : service.apiUrls.find((base) => liesBelow(parsed, base))
    if (baseuri === undefined) {
      throw new ServiceError('bad_request', `Cannot call ${service.name}: the URL is outside of apiUrls`)
    }
    const token = await this.accessToken(actorId, name)
    const answer = await this.#ask(service, { url, baseuri, token }, request)
    if (answer.status !== 401) return answer
    const stored = await this.#deps.store.read((q) => findConnection(q, actorId, service.name))
    if (stored === null) throw notConnected(service)
    const { accessToken, refreshToken } = this.#opened(actorId, stored)
    if (accessToken !== token) return this.#ask(service, { url, baseuri, token: accessToken }, request)
    if (refreshToken === null) return answer
    const fresh = await this.#refreshOnce(actorId, service, stored.tokens)
    return this.#ask(service, { url, baseuri, token: fresh }, request)
  }

  async #ask(
    service: ThirdPartyService,
    { url, baseuri, token }: { url: string; baseuri: string; token: string },
    { method = 'GET', headers, body }: ServiceRequest,
  ): Promise<Response> {
    const outcome = await this.#deps.client.call({
      method,
      url,
      bearer: { secret: token, baseuri },
      headers,
      body,
      timeouts,
      maxAnswerBytes,
    })
    if (outcome.kind !== 'answered') throw failed(service, outcome.reason)
    const hasBody = ![204, 205, 304].includes(outcome.status)
    return new Response(hasBody ? outcome.body : null, { status: outcome.status, headers: outcome.headers })
  }

  #refreshOnce(actorId: string, service: ThirdPartyService, stored: Sealed): Promise<string> {
    const key = `${actorId} ${service.name}`
    const running = this.#refreshing.get(key)
    if (running !== undefined) return running
    const refreshed = this.#refresh(actorId, service, stored).finally(() => this.#refreshing.delete(key))
    this.#refreshing.set(key, refreshed)
    return refreshed
  }

  /** Refreshes in one process only, because many services revoke the consent when a refresh token is used twice. */
  async #refresh(actorId: string, service: ThirdPartyService, stored: Sealed): Promise<string> {
    const { store, now } = this.#deps
    for (;;) {
      const claim = { tokens: stored, now: now(), until: now() + holdMs }
      if (await store.write((tx) => claimRefresh(tx, actorId, service.name, claim))) {
        return this.#refreshHeld(actorId, service, claim)
      }
      // Another process refreshes, or the owner disconnected or connected again: use the stored connection.
      const current = await store.read((q) => findConnection(q, actorId, service.name))
      if (current === null) throw notConnected(service)
      if (current.tokens !== stored) return this.#opened(actorId, current).accessToken
      await new Promise<void>((resolve) => this.#deps.timers.setTimer(lookAgainMs, resolve))
    }
  }

  /** Stores the outcome patiently: other calls wait while the claim lasts, and lost tokens cannot be requested again. */
  async #refreshHeld(
    actorId: string,
    service: ThirdPartyService,
    { tokens: stored, until }: { readonly tokens: Sealed; readonly until: number },
  ): Promise<string> {
    const { store } = this.#deps
    const release = (): Promise<void> =>
      storePatiently(this.#deps, until, () => store.write((tx) => releaseRefresh(tx, actorId, service.name, stored)))
    const before = this.#open(actorId, service.name, stored)
    let redeemed: Redeemed
    try {
      redeemed = await this.#tokens.redeem(service, {
        grant_type: 'refresh_token',
        refresh_token: before.refreshToken ?? '',
      })
    } catch (error) {
      await release()
      throw error
    }
    if (redeemed.kind === 'dead') {
      await release()
      throw notConnected(service, `${service.name}: ${redeemed.reason}`)
    }
    const { tokens } = redeemed
    const kept: ServiceTokens = {
      ...tokens,
      refreshToken: tokens.refreshToken ?? before.refreshToken,
      scope: tokens.scope === '' ? before.scope : tokens.scope,
    }
    const to = this.#sealed(actorId, service, kept)
    const isStored = await storePatiently(this.#deps, until, () =>
      store.write((tx) => replaceTokens(tx, actorId, service.name, { from: stored, to })),
    )
    if (isStored) return tokens.accessToken
    const current = await store.read((q) => findConnection(q, actorId, service.name))
    if (current === null) throw notConnected(service)
    return this.#opened(actorId, current).accessToken
  }

  #sealed(actorId: string, { name }: ThirdPartyService, tokens: ServiceTokens): Sealed {
    return seal(this.#deps.keyRing, JSON.stringify(tokens), bindingOf(serviceTokens, actorId, name))
  }

  #opened(actorId: string, { service, tokens }: StoredConnection): ServiceTokens {
    return this.#open(actorId, service, tokens)
  }

  #open(actorId: string, service: string, tokens: Sealed): ServiceTokens {
    // The binding proves that `#sealed` created the value for this row.
    return JSON.parse(open(this.#deps.keyRing, tokens, bindingOf(serviceTokens, actorId, service))) as ServiceTokens
  }
}

function notConnected({ name }: ThirdPartyService, reason?: string): ServiceError {
  const message = `Cannot use ${name}: the actor is not connected with it`
  return new ServiceError('not_connected', message, reason === undefined ? {} : { reason })
}
