/**
 * The owner's consent to a client (CHOICE-35). A page of the service asks for it, bound to one browser, before any
 * provider is contacted. Then the owner signs in, and only the same browser gets the code.
 */
import type { Actor } from '../actor/actor.ts'
import type { Live } from '../live/live.ts'
import { noteAct } from '../observe/own-acts.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import type { Store, Transaction } from '../store/store.ts'
import { lifetimes, type OneTime } from '../token/one-time.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { type Client, isDocumented } from './client.ts'
import { keepClient } from './client-store.ts'
import { ensureClientTrust } from './client-trust.ts'
import type { Clients } from './clients.ts'
import type { DeviceCodes } from './device/device-codes.ts'
import { OAuthError } from './oauth-error.ts'
import { isOfOtherActor } from './resources.ts'
import type { WaitingDevice } from './device/waiting-device.ts'

/** Path to which the owner returns after the sign-in. */
export const finishPath = '/oauth/authorize/finish'

export interface ConsentsDeps {
  readonly store: Store
  readonly oneTime: OneTime
  readonly clients: Clients
  readonly devices: DeviceCodes
  readonly keyRing: KeyRing
  readonly live: Pick<Live, 'record'>
  /** URL of the service, without a trailing slash. */
  readonly baseUrl: string
  readonly now: () => number
}

/** A page that asks for consent. It stays known after the decision, because browsers send forms and addresses again. */
interface Asked {
  readonly request: AuthorizationRequest
  /** The actor that the page showed. Null when no owner was signed in. */
  readonly ownerId: string | null
  /** Unix milliseconds. */
  readonly askedAt: number
  /** Absent before the decision. */
  readonly outcome?: Outcome
}

/** The decision. Later forms of the page cannot change it. */
type Outcome = Allowed | { readonly kind: 'refused'; readonly code: string; readonly message: string }

interface Allowed {
  readonly kind: 'allowed'
  readonly ownerId: string
  readonly trustType: string
  /** Null for a device, which fetches its tokens without a code. */
  readonly code: string | null
}

/** A sign-in after which the owner allows the client. */
interface SigningIn {
  /** The value of the page. */
  readonly page: string
  readonly trustType: string
}

export interface GivenConsent {
  readonly request: AuthorizationRequest
  readonly trustType: string
}

/** The page on which the browser decides. */
export interface AskingPage {
  /** The value of the page's form. */
  readonly page: string
  /** Cookie of the browser that received the page. */
  readonly browser: string
}

export type ConsentOnPage = GivenConsent & AskingPage

/** Data of an authorization code. */
export interface CodeData extends GivenConsent {
  readonly peerId: string
  readonly identifier: string
  /** Unix milliseconds. */
  readonly agreedAt: number
}

type Owner = Pick<Actor, 'id' | 'creator' | 'kind'>

/** Data from which the tokens of a device are issued. */
export interface DeviceAgreement extends CodeData {
  readonly actorId: string
}

export class Consents {
  readonly #deps: ConsentsDeps

  constructor(deps: ConsentsDeps) {
    this.#deps = deps
  }

  /** Begins a consent. @returns the value that the page's form sends back from this browser. */
  ask(request: AuthorizationRequest, ownerId: string | null, browser: string): Promise<string> {
    const { store, oneTime, now } = this.#deps
    const data: Asked = { request, ownerId, askedAt: now() }
    // The sign-in may begin in the last second of the page.
    const lifetimeSeconds = lifetimes.consent * 2
    return store.write((tx) => oneTime.create(tx, { purpose: 'consent', data, browser, lifetimeSeconds }))
  }

  /** Returns the consent of a form. Null when the value is invalid, too old, or bound to another browser. */
  async asked({ page, browser }: AskingPage): Promise<(Asked & { readonly isDecided: boolean }) | null> {
    const found = await this.#asked(page, browser)
    if (found === null) return null
    const isDecided = found.outcome !== undefined
    const isTooOld = found.askedAt + lifetimes.consent * 1000 < this.#deps.now()
    return isTooOld && !isDecided ? null : { ...found, isDecided }
  }

  /** Stores that the owner allows the client after a sign-in. @returns the value with which the browser returns. */
  beginSignIn({ page, browser }: AskingPage, trustType: string): Promise<string> {
    const { store, oneTime } = this.#deps
    const data: SigningIn = { page, trustType }
    return store.write((tx) => oneTime.create(tx, { purpose: 'consent', data, browser }))
  }

  /** Returns the consent of a browser that returns from the sign-in. */
  async signedIn(value: string, browser: string): Promise<ConsentOnPage | null> {
    const { store, oneTime } = this.#deps
    const presented = { purpose: 'consent', value, browser } as const
    const begun = await store.read((q) => oneTime.peek<Asked | SigningIn>(q, presented))
    if (begun === null || !('page' in begun.data)) return null
    const { page, trustType } = begun.data
    const asked = await this.#asked(page, browser)
    return asked === null ? null : { request: asked.request, trustType, page, browser }
  }

  /**
   * Creates the relationship and issues a code, for the owner who consented. The same consent of the same owner returns the
   * same code while it is unused.
   *
   * @returns null when the page was decided in another way, or its code was used or has expired.
   * @throws OAuthError `access_denied` when the client was deleted meanwhile, `invalid_target` when the client requested the
   *   address of another actor.
   */
  async issueCode(actor: Owner, consent: ConsentOnPage): Promise<string | null> {
    const { oneTime, store } = this.#deps
    const outcome = await this.#agree(actor, consent, (tx, data) =>
      oneTime.create(tx, { purpose: 'code', data, actorId: actor.id }),
    )
    const code = outcome?.code ?? null
    if (code === null) return null
    const waiting = await store.read((q) => oneTime.peek(q, { purpose: 'code', value: code }))
    return waiting === null ? null : code
  }

  /**
   * Creates the relationship, and lets the device fetch its tokens.
   *
   * @returns false when the page was decided in another way.
   * @throws OAuthError like `issueCode`, and `expired_token` when the code has expired or was decided before.
   */
  async approveDevice(actor: Owner, consent: ConsentOnPage, device: WaitingDevice): Promise<boolean> {
    const { devices } = this.#deps
    const outcome = await this.#agree(actor, consent, async (tx, data) => {
      const agreement: DeviceAgreement = { ...data, actorId: actor.id }
      if (!(await devices.decide(tx, device, agreement))) throw deviceExpired()
      return null
    })
    return outcome !== null
  }

  /**
   * Refuses the client with this error.
   *
   * @returns false when the page was decided in another way.
   * @throws OAuthError `expired_token` when the code of a device has expired or was decided before.
   */
  refuse({ page, browser }: AskingPage, { code, message }: OAuthError): Promise<boolean> {
    const { store, oneTime, devices } = this.#deps
    const presented = { purpose: 'consent', value: page, browser } as const
    return store.write(async (tx) => {
      const first = await oneTime.consume<Asked>(tx, presented)
      if (first === null) {
        const outcome = (await oneTime.spent<Asked>(tx, presented))?.data.outcome
        return outcome?.kind === 'refused' && outcome.code === code && outcome.message === message
      }
      const { device } = first.data.request
      if (device !== undefined && !(await devices.decide(tx, device, null))) throw deviceExpired()
      await this.#remember(tx, page, { ...first.data, outcome: { kind: 'refused', code, message } })
      return true
    })
  }

  async #asked(page: string, browser: string): Promise<Asked | null> {
    const { store, oneTime } = this.#deps
    const presented = { purpose: 'consent', value: page, browser } as const
    const record = await store.read(
      async (q) => (await oneTime.peek<Asked | SigningIn>(q, presented)) ?? oneTime.spent<Asked>(q, presented),
    )
    return record === null || 'page' in record.data ? null : record.data
  }

  #remember(tx: Transaction, page: string, decided: Asked): Promise<void> {
    return this.#deps.oneTime.remember(tx, page, decided, lifetimes.consent)
  }

  /** Consumes the consent and allows the client in one transaction, or returns the outcome of the same earlier decision. */
  async #agree(
    actor: Owner,
    { request, trustType, page, browser }: ConsentOnPage,
    finish: (tx: Transaction, data: CodeData) => Promise<string | null>,
  ): Promise<Allowed | null> {
    const { store, oneTime, clients, keyRing, live, baseUrl, now } = this.#deps
    if (isOfOtherActor(request.audience, actor.id, baseUrl)) {
      throw new OAuthError('invalid_target', 'resource is another actor than the one of the owner')
    }
    const client: Client | null = await clients.find(request.clientId)
    if (client === null) throw clientGone()
    const presented = { purpose: 'consent', value: page, browser } as const
    const { outcome, connected } = await store.writeActor(actor.id, async (tx, locked) => {
      const first = await oneTime.consume<Asked>(tx, presented)
      // A repeated form must not bring back a relationship that the owner ended meanwhile.
      if (first === null) return { outcome: (await oneTime.spent<Asked>(tx, presented))?.data.outcome, connected: null }
      const agreedAt = now()
      if (!isDocumented(client) && !(await keepClient(tx, client.clientId, agreedAt))) throw clientGone()
      const peerId = await ensureClientTrust(tx, keyRing, client, {
        actorId: actor.id,
        identifier: actor.creator,
        relationship: trustType,
        redirectUri: request.device === undefined ? request.redirectUri : '',
        now: agreedAt,
      })
      await live.record(tx, locked, 'trust', [peerId])
      const data: CodeData = { request, trustType, peerId, identifier: actor.creator, agreedAt }
      const allowed: Allowed = { kind: 'allowed', ownerId: actor.id, trustType, code: await finish(tx, data) }
      await this.#remember(tx, page, { ...first.data, outcome: allowed })
      return { outcome: allowed, connected: peerId }
    })
    if (connected !== null) noteAct(actor.id, 'app.connect', { peer: connected })
    if (outcome?.kind !== 'allowed') return null
    return outcome.ownerId === actor.id && outcome.trustType === trustType ? outcome : null
  }
}

function clientGone(): OAuthError {
  return new OAuthError('access_denied', 'The client no longer exists')
}

function deviceExpired(): OAuthError {
  return new OAuthError('expired_token', 'The code has expired or was used before')
}
