/** The page of a sign-in with a passkey: signs in, creates an account, or takes a recovery code. */
import { hash } from 'node:crypto'
import { normalizeCreator } from '../../actor/actor.ts'
import { ServiceError } from '../../errors.ts'
import type { Live } from '../../live/live.ts'
import { noteAct } from '../../observe/own-acts.ts'
import { hashSecret } from '../../secret/hash.ts'
import type { Store } from '../../store/store.ts'
import type { OneTime } from '../../token/one-time.ts'
import { ownSignInOf } from '../own/own-codes.ts'
import { leadsAway } from '../flow.ts'
import { SignInRefusal } from '../refusal.ts'
import type { Begun, States } from '../states.ts'
import { writeOwner } from '../../actor/write-owner.ts'
import { passkeyProviderName } from './names.ts'
import type { PasskeyProvider } from './passkey-provider.ts'
import { deleteCodeHash, findPasskey, updateUse } from './passkey-store.ts'
import { newRecoveryCodes, parseRecoveryCode } from './recovery-code.ts'
import type { WebAuthn } from './webauthn.ts'

export interface PasskeySignInDeps {
  readonly store: Store
  readonly oneTime: OneTime
  readonly live: Pick<Live, 'record'>
  readonly states: States
  readonly provider: PasskeyProvider
  readonly webauthn: WebAuthn
  readonly now: () => number
  /** False where the creator of an actor must be a proven address, which a passkey does not prove. */
  readonly opensAccounts: boolean
}

/** A sign-in that arrives at the page. */
export interface AtPasskey {
  readonly state: string
  readonly codeChallenge: string
  /** The cookie of the browser. */
  readonly browser: string | null
}

/** Options that the page hands to the device, as JSON. */
export interface PasskeyOptions {
  /** `PublicKeyCredentialRequestOptionsJSON` of WebAuthn. */
  readonly request: string
  /** `PublicKeyCredentialCreationOptionsJSON` of WebAuthn, without the name of the person. Null: no account can be created. */
  readonly creation: string | null
  /** True when the sign-in leaves the service afterwards, to an application or an AI client. */
  readonly leadsAway: boolean
}

/** An account that waits until the person has saved the recovery codes. */
export interface BegunAccount {
  readonly codes: readonly string[]
  /** The URL that creates the account and signs in. */
  readonly continueUrl: string
}

export interface NewAccount {
  readonly name: string
  /** JSON of the device's response. */
  readonly response: string
  /** Description of the device, the first name of the passkey. */
  readonly device: string
}

export const longestOwnerName = 100

/** The time in which a person saves the recovery codes, in seconds; as long as a sign-in may take. */
const savingSeconds = 600

export class PasskeySignIn {
  readonly #deps: PasskeySignInDeps

  constructor(deps: PasskeySignInDeps) {
    this.#deps = deps
  }

  /** @throws ServiceError `bad_request` for a state that is unknown or belongs to another browser. */
  async options(at: AtPasskey): Promise<PasskeyOptions> {
    const { webauthn } = this.#deps
    const begun = await this.#find(at)
    const challenge = challengeFor(begun)
    const user = { actorId: newActorId(begun), name: ' ', passkeys: [] }
    const [request, creation] = await Promise.all([
      webauthn.requestOptions(challenge),
      this.#takesNew(begun) ? webauthn.creationOptions(challenge, user) : null,
    ])
    return {
      request: JSON.stringify(request),
      creation: creation === null ? null : JSON.stringify(creation),
      leadsAway: leadsAway(begun.flow),
    }
  }

  /**
   * Signs in by the response of a device.
   *
   * @returns the URL of the callback.
   * @throws ServiceError `bad_request` for a response that is not valid, SignInRefusal `unknown_passkey`.
   */
  async enter(at: AtPasskey, response: string): Promise<string> {
    const { store, webauthn, provider, live, now } = this.#deps
    const begun = await this.#find(at)
    const assertion = webauthn.readAssertion(response)
    const { actorId, passkeyId } = assertion
    const passkey = await store.read((q) => findPasskey(q, actorId, passkeyId))
    if (passkey === null) throw new SignInRefusal('unknown_passkey')
    const use = await webauthn.verifyAssertion(assertion, challengeFor(begun), passkey)
    await writeOwner(store, actorId, async (tx, locked) => {
      const current = await findPasskey(tx, actorId, passkeyId)
      // The owner removed the passkey meanwhile, or the same signature has been used.
      if (current === null || current.counter !== passkey.counter) throw new SignInRefusal('unknown_passkey')
      await updateUse(tx, { ...current, ...use, lastUsedAt: now() })
      await live.record(tx, locked, 'sessions', [passkeyId])
    })
    return provider.callbackUrl({ kind: 'owner', actorId }, ownSignInOf(begun, at))
  }

  /**
   * Verifies the first passkey of a new account. The account does not exist before the person opens `continueUrl`.
   *
   * @throws ServiceError `invalid_value` for a name that is empty, too long, or looks like an address or a provider id;
   *   `bad_request` for a response that is not valid; `forbidden` where a passkey opens no new account.
   */
  async begin(at: AtPasskey, { name: typed, response, device }: NewAccount): Promise<BegunAccount> {
    const { webauthn, provider } = this.#deps
    const begun = await this.#find(at)
    if (!this.#takesNew(begun))
      throw new ServiceError('forbidden', 'Cannot create an account: this sign-in is for an existing one')
    const name = ownerName(typed)
    const created = await webauthn.verifyCreation(response, challengeFor(begun))
    const codes = newRecoveryCodes()
    const proof = { kind: 'new', actorId: newActorId(begun), name, created, passkeyName: device, codes } as const
    return { codes, continueUrl: await provider.callbackUrl(proof, ownSignInOf(begun, at), savingSeconds) }
  }

  /**
   * Consumes a recovery code.
   *
   * @returns the URL of the callback.
   * @throws SignInRefusal `unknown_code`
   */
  async recover(at: AtPasskey, typed: string): Promise<string> {
    const { store, oneTime, provider, live } = this.#deps
    const begun = await this.#find(at)
    const value = parseRecoveryCode(typed)
    const found = value === null ? null : await store.read((q) => oneTime.peek(q, { purpose: 'recovery_code', value }))
    if (value === null || found?.actorId === undefined || found.actorId === null)
      throw new SignInRefusal('unknown_code')
    const { actorId } = found
    await writeOwner(store, actorId, async (tx, locked) => {
      if (!(await deleteCodeHash(tx, actorId, hashSecret(value)))) throw new SignInRefusal('unknown_code')
      await oneTime.discard(tx, [hashSecret(value)])
      await live.record(tx, locked, 'sessions', ['recovery_codes'])
    })
    noteAct(actorId, 'recovery_code.use')
    return provider.callbackUrl({ kind: 'owner', actorId }, ownSignInOf(begun, at))
  }

  #find({ state, browser }: AtPasskey): Promise<Begun> {
    return this.#deps.states.require(state, browser, passkeyProviderName)
  }

  /** A sign-in that must end at a certain account or address creates none. */
  #takesNew({ flow }: Begun): boolean {
    const isForExisting = flow.kind === 'web' && (flow.expectedActorId !== null || flow.expectedIdentifier !== null)
    return this.#deps.opensAccounts && !isForExisting
  }
}

/** The challenge of a sign-in: as random, and valid as long, as the state. The browser sees it but cannot choose it. */
function challengeFor({ nonce }: Begun): string {
  return hash('sha256', `passkey challenge ${nonce}`, 'base64url')
}

/** The id of the actor that the person takes, or that the sign-in may create: 128 bits, as random as the nonce. */
function newActorId({ nonce, flow }: Begun): string {
  if (flow.kind === 'web' && flow.claimed !== undefined) return flow.claimed.actorId
  return hash('sha256', `passkey actor ${nonce}`, 'hex').slice(0, 32)
}

/** @throws ServiceError `invalid_value` */
function ownerName(typed: string): string {
  const text = typed.trim()
  if (text === '' || text.length > longestOwnerName)
    throw new ServiceError('invalid_value', `Please enter a name of 1 to ${longestOwnerName} characters.`)
  // Names of this form are identities that others prove.
  if (/[@:]/.test(text))
    throw new ServiceError('invalid_value', 'Please enter a name without "@" and ":". A passkey proves no address.')
  return normalizeCreator(text)
}
