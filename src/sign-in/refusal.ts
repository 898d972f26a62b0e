/** Reasons for refused sign-ins, and the response to each kind of caller. */
import { type ErrorCode, ServiceError } from '../errors.ts'
import { ProviderError, type ProviderFailure } from './provider.ts'

interface RefusalResponse {
  /** Error code for the web, from the catalog. */
  readonly code: ErrorCode
  /** `error` in the redirect of a single-page application. */
  readonly spa: string
  /** Response status of the token endpoint. */
  readonly grant: 400 | 401 | 403
  readonly text: string
}

const refusals = {
  exchange_failed: {
    code: 'provider_failed',
    spa: 'token_exchange_failed',
    grant: 401,
    text: 'Cannot sign you in: the provider did not confirm the sign-in',
  },
  identity_failed: {
    code: 'provider_failed',
    spa: 'validation_failed',
    grant: 401,
    text: 'Cannot sign you in: the provider did not say who you are',
  },
  lookup_failed: {
    code: 'provider_failed',
    spa: 'identifier_failed',
    grant: 401,
    text: 'Cannot sign you in: the provider did not return your e-mail address',
  },
  no_address: {
    code: 'provider_failed',
    spa: 'identifier_failed',
    grant: 401,
    text: 'Cannot sign you in: the provider did not confirm an e-mail address for you',
  },
  assertion_invalid: {
    code: 'bad_request',
    spa: 'validation_failed',
    grant: 400,
    text: 'invalid_grant: the assertion is not valid here',
  },
  address_unverified: {
    code: 'forbidden',
    spa: 'identifier_failed',
    grant: 403,
    text: 'Cannot sign you in: your e-mail address is not verified. Verify it at the application, then sign in again.',
  },
  address_invalid: {
    code: 'forbidden',
    spa: 'identifier_failed',
    grant: 403,
    text: 'Cannot sign you in: the application does not have a valid e-mail address of yours',
  },
  other_identity: {
    code: 'forbidden',
    spa: 'auth_rejected',
    grant: 403,
    text: 'Cannot sign you in: the provider confirmed a different account than the expected one. Sign in again with the right account.',
  },
  unknown_passkey: {
    code: 'forbidden',
    spa: 'auth_rejected',
    grant: 403,
    text: 'Cannot sign you in: this passkey belongs to no account here. Choose another passkey, or create an account.',
  },
  unknown_code: {
    code: 'forbidden',
    spa: 'auth_rejected',
    grant: 403,
    text: 'Cannot sign you in: this is not an unused recovery code',
  },
  unknown_email_code: {
    code: 'forbidden',
    spa: 'auth_rejected',
    grant: 403,
    text: 'Cannot sign you in: this code was not sent for this sign-in, has expired, or was used before',
  },
  has_account: {
    code: 'conflict',
    spa: 'auth_rejected',
    grant: 403,
    text: 'Cannot give you the moved account: you have another account here. Delete that one first, or choose another sign-in.',
  },
  already_taken: {
    code: 'forbidden',
    spa: 'auth_rejected',
    grant: 403,
    text: 'Cannot give you the moved account: its owner has taken it already',
  },
  name_taken: {
    code: 'creator_exists',
    spa: 'auth_rejected',
    grant: 403,
    text: 'Cannot create your account: another account has this name. Please begin again with another name.',
  },
  rejected: {
    code: 'forbidden',
    spa: 'auth_rejected',
    grant: 403,
    text: 'Cannot sign you in: the application does not accept this sign-in',
  },
} as const satisfies Record<string, RefusalResponse>

export type Why = keyof typeof refusals

export class SignInRefusal extends ServiceError {
  readonly why: Why

  /** @param reason For the log. */
  constructor(why: Why, reason?: string) {
    super(refusals[why].code, refusals[why].text, reason === undefined ? {} : { reason })
    this.why = why
  }

  /** The response for each kind of caller. */
  get response(): RefusalResponse {
    return refusals[this.why]
  }
}

const ofProvider: Readonly<Record<ProviderFailure, Why>> = {
  exchange: 'exchange_failed',
  identity: 'identity_failed',
  assertion: 'assertion_invalid',
  unreachable: 'exchange_failed',
}

/** Awaits a call to a provider. @throws SignInRefusal for a ProviderError; rethrows any other error. */
export async function askProvider<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ProviderError) throw new SignInRefusal(ofProvider[error.failure], error.message)
    throw error
  }
}

/** Error for a paused sign-in that has ended or belongs to another browser. */
export function signInOver(): ServiceError {
  return new ServiceError(
    'bad_request',
    'Cannot continue this sign-in: it took longer than ten minutes, was finished before, or was begun in another browser. Please begin again.',
    { needsBrowser: true },
  )
}

/** Error for a `state` that no sign-in of this browser has. */
export function unknownState(): ServiceError {
  const { code, message, detail } = wrongState('it is unknown, expired, used, or bound to another browser')
  return new ServiceError(code, message, { ...detail, needsBrowser: true })
}

/** Error for a `state` that is not valid in this browser. @param reason For the log. */
export function wrongState(reason: string): ServiceError {
  return new ServiceError(
    'bad_request',
    'Cannot sign you in: this sign-in is not known here, took longer than ten minutes, was finished before, or was begun in another browser. Please begin again.',
    { reason: `Cannot accept the state: ${reason}` },
  )
}
