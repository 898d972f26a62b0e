/**
 * WebAuthn (Level 3), as the service uses it: passkeys that name their user, after the device verified the person by fingerprint, face
 * or PIN. The library is loaded with the first passkey.
 */
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { parseActorId } from '../../actor/actor.ts'
import { ServiceError } from '../../errors.ts'
import type { Passkey } from './passkey-store.ts'

export interface RelyingParty {
  /** The host of the service. A passkey works at this host only. */
  readonly id: string
  readonly name: string
  readonly origin: string
}

/** The owner of a new passkey. */
export interface PasskeyUser {
  /** Id of the actor, which the passkey returns at each sign-in. */
  readonly actorId: string
  /** The name that the device shows for the passkey. */
  readonly name: string
  /** The passkeys that the owner has already, so that no device gets a second one. */
  readonly passkeys: readonly Pick<Passkey, 'passkeyId' | 'transports'>[]
}

/** A passkey that a device created. */
export type CreatedPasskey = Pick<Passkey, 'passkeyId' | 'publicKey' | 'counter' | 'transports' | 'synced'>

/** Result of a sign-in with a passkey. */
export type PasskeyUse = Pick<Passkey, 'counter' | 'synced'>

/** The response of a device to a sign-in. */
export interface Assertion {
  readonly passkeyId: string
  /** The actor that the passkey names. */
  readonly actorId: string
  readonly response: AuthenticationResponseJSON
}

export class WebAuthn {
  readonly #party: RelyingParty

  constructor(party: RelyingParty) {
    this.#party = party
  }

  /** @returns the options for `navigator.credentials.create`, with bytes in base64url. */
  async creationOptions(challenge: string, user: PasskeyUser): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const { generateRegistrationOptions } = await library()
    return generateRegistrationOptions({
      rpID: this.#party.id,
      rpName: this.#party.name,
      challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
      userID: new Uint8Array(Buffer.from(user.actorId)),
      userName: user.name,
      userDisplayName: user.name,
      timeout: timeoutMs,
      excludeCredentials: user.passkeys.map(({ passkeyId, transports }) => ({
        id: passkeyId,
        transports: [...transports],
      })),
      supportedAlgorithmIDs: [...algorithms],
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    })
  }

  /** @returns the options for `navigator.credentials.get`, with bytes in base64url. */
  async requestOptions(challenge: string): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const { generateAuthenticationOptions } = await library()
    return generateAuthenticationOptions({
      rpID: this.#party.id,
      challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
      timeout: timeoutMs,
      userVerification: 'required',
    })
  }

  /** @throws ServiceError `bad_request` for a response that the device did not create for this challenge and this service. */
  async verifyCreation(text: string, challenge: string): Promise<CreatedPasskey> {
    const response = responseIn(text) as unknown as RegistrationResponseJSON
    const { verifyRegistrationResponse } = await library()
    const { registrationInfo } = await refused(
      verifyRegistrationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin: this.#party.origin,
        expectedRPID: this.#party.id,
        supportedAlgorithmIDs: [...algorithms],
      }),
    )
    if (registrationInfo === undefined) throw invalid('the signature is wrong')
    const { credential, credentialBackedUp } = registrationInfo
    return {
      passkeyId: credential.id,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      transports: transportsOf(response),
      synced: credentialBackedUp,
    }
  }

  /** Reads whose passkey signed, before the signature is verified. @throws ServiceError `bad_request` */
  readAssertion(text: string): Assertion {
    const response = responseIn(text) as unknown as AuthenticationResponseJSON
    const handle: unknown = (response.response as Partial<AuthenticationResponseJSON['response']> | undefined)
      ?.userHandle
    const actorId = typeof handle === 'string' ? parseActorId(Buffer.from(handle, 'base64url').toString()) : null
    if (typeof response.id !== 'string' || actorId === null) throw invalid('it names no actor')
    return { passkeyId: response.id, actorId, response }
  }

  /** @throws ServiceError `bad_request` for a signature that is wrong, old, or of another challenge or service. */
  async verifyAssertion({ response }: Assertion, challenge: string, passkey: Passkey): Promise<PasskeyUse> {
    const { verifyAuthenticationResponse } = await library()
    const { verified, authenticationInfo } = await refused(
      verifyAuthenticationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin: this.#party.origin,
        expectedRPID: this.#party.id,
        credential: {
          id: passkey.passkeyId,
          publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
          counter: passkey.counter,
        },
      }),
    )
    if (!verified) throw invalid('the signature is wrong')
    return { counter: authenticationInfo.newCounter, synced: authenticationInfo.credentialBackedUp }
  }
}

/** EdDSA, ES256 and RS256 (COSE). Without them, the library asks the runtime for newer ones, and Node.js prints a warning. */
const algorithms = [-8, -7, -257]

/** The time in which the person must confirm, in milliseconds. */
const timeoutMs = 300_000

/** Longest response in characters. A response with the certificates of a security key has about 8,000. */
const longestResponse = 32_768
const maxTransports = 10

function library() {
  return import('@simplewebauthn/server')
}

function responseIn(text: string): object {
  if (text.length > longestResponse) throw invalid('it is too long')
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw invalid('it is not JSON')
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw invalid('it is not an object')
  return parsed
}

function transportsOf(response: RegistrationResponseJSON): readonly string[] {
  const given: unknown = response.response.transports
  if (!Array.isArray(given)) return []
  const names = given.filter((each): each is string => typeof each === 'string' && /^[a-z-]{1,20}$/.test(each))
  return names.slice(0, maxTransports)
}

/** The library reports each response that is not valid as an error of no special type. */
async function refused<T>(verifying: Promise<T>): Promise<T> {
  try {
    return await verifying
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : String(error))
  }
}

/** @param reason For the log. */
function invalid(reason: string): ServiceError {
  return new ServiceError('bad_request', 'Cannot use this passkey: the response of the device is not valid', {
    reason: `The response of the device is not valid: ${reason}`,
  })
}
