/**
 * The owner's consent to a client (CHOICE-35). A page of the service asks for it, bound to one browser, before any
 * provider is contacted. Then the owner signs in, and only the same browser gets the code.
 */
import type { Actor } from '../actor/actor.ts'
import type { Live } from '../live/live.ts'
import { noteAct } from '../observe/context.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { OneTime } from '../token/one-time.ts'
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

/** A consent that waits for the owner's decision. */
interface Asked {
  readonly request: AuthorizationRequest
  /** The actor that the page showed. Null when no owner was signed in. */
  readonly ownerId: string | null
}

/** A given consent that waits until the owner has signed in. */
export interface GivenConsent {
  readonly request: AuthorizationRequest
  readonly trustType: string
}

/** Data of an authorization code. */
export interface CodeData extends GivenConsent {
  readonly peerId: string
  readonly identifier: string
  /** Unix milliseconds. */
  readonly agreedAt: number
}

type Owner = Pick<Actor, 'id' | 'creator'>

/** Data from which the tokens of a device are issued. */
export interface DeviceAgreement extends CodeData {
  readonly actorId: string
}

export class Consents {
  readonly #deps: ConsentsDeps

  constructor(deps: ConsentsDeps) {
    this.#deps = deps
  }

  /** Begins a consent. @returns the value that the page's form sends back, valid once in this browser. */
  ask(request: AuthorizationRequest, ownerId: string | null, browser: string): Promise<string> {
    const asked: Asked = { request, ownerId }
    return this.#deps.store.write((tx) => this.#deps.oneTime.create(tx, { purpose: 'consent', data: asked, browser }))
  }

  /** Consumes the value of the form. Null when it is invalid or bound to another browser. */
  async answered(value: string, browser: string): Promise<Asked | null> {
    const { store, oneTime } = this.#deps
    const record = await store.write((tx) =>
      oneTime.consume<Asked | GivenConsent>(tx, { purpose: 'consent', value, browser }),
    )
    return record === null || 'trustType' in record.data ? null : record.data
  }

  /** Stores the consent during the sign-in. @returns the value with which the browser returns. */
  give(given: GivenConsent, browser: string): Promise<string> {
    return this.#deps.store.write((tx) => this.#deps.oneTime.create(tx, { purpose: 'consent', data: given, browser }))
  }

  async given(value: string, browser: string): Promise<GivenConsent | null> {
    const { store, oneTime } = this.#deps
    const record = await store.write((tx) =>
      oneTime.consume<Asked | GivenConsent>(tx, { purpose: 'consent', value, browser }),
    )
    return record !== null && 'trustType' in record.data ? record.data : null
  }

  /**
   * Creates the relationship and issues a code, for the owner who consented.
   *
   * @throws OAuthError `access_denied` when the client was deleted meanwhile, `invalid_target` when the client requested the
   *   address of another actor.
   */
  issueCode(actor: Owner, given: GivenConsent): Promise<string> {
    const { oneTime } = this.#deps
    return this.#agree(actor, given, (tx, data) => oneTime.create(tx, { purpose: 'code', data, actorId: actor.id }))
  }

  /**
   * Creates the relationship, and lets the device fetch its tokens.
   *
   * @throws OAuthError like `issueCode`, and `expired_token` when the code has expired or was decided before.
   */
  async approveDevice(actor: Owner, given: GivenConsent, device: WaitingDevice): Promise<void> {
    const { devices } = this.#deps
    await this.#agree(actor, given, async (tx, data) => {
      const agreement: DeviceAgreement = { ...data, actorId: actor.id }
      if (!(await devices.decide(tx, device, agreement)))
        throw new OAuthError('expired_token', 'The code has expired or was used before')
    })
  }

  async #agree<T>(
    actor: Owner,
    { request, trustType }: GivenConsent,
    finish: (tx: Transaction, data: CodeData) => Promise<T>,
  ): Promise<T> {
    const { store, clients, keyRing, live, baseUrl, now } = this.#deps
    if (isOfOtherActor(request.audience, actor.id, baseUrl)) {
      throw new OAuthError('invalid_target', 'resource is another actor than the one of the owner')
    }
    const client: Client | null = await clients.find(request.clientId)
    if (client === null) throw clientGone()
    const { result, connected } = await store.writeActor(actor.id, async (tx, locked) => {
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
      return { result: await finish(tx, data), connected: peerId }
    })
    noteAct(actor.id, 'POST', 'apps', connected)
    return result
  }
}

function clientGone(): OAuthError {
  return new OAuthError('access_denied', 'The client no longer exists')
}
