/** Why nobody was signed in, and what each kind of caller is told. */
import { type ErrorCode, ServiceError } from '../errors.ts'
import { ProviderError, type ProviderFailure } from './provider.ts'

interface Told {
  /** On the web: an error of the catalogue. */
  readonly code: ErrorCode
  /** `error` in the redirect of a single-page application. */
  readonly spa: string
  /** Status of the token endpoint. */
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
    text: 'Cannot sign you in: the provider did not tell your e-mail address',
  },
  no_address: {
    code: 'provider_failed',
    spa: 'identifier_failed',
    grant: 401,
    text: 'Cannot sign you in: the provider vouches for no e-mail address of yours',
  },
  assertion_invalid: {
    code: 'bad_request',
    spa: 'validation_failed',
    grant: 400,
    text: 'invalid_grant: the assertion is not valid here',
  },
  other_identity: {
    code: 'forbidden',
    spa: 'auth_rejected',
    grant: 403,
    text: 'Cannot sign you in: the provider confirmed another account than the one that this sign-in was for. Sign in again with the right account.',
  },
  rejected: {
    code: 'forbidden',
    spa: 'auth_rejected',
    grant: 403,
    text: 'Cannot sign you in: the application does not accept this sign-in',
  },
} as const satisfies Record<string, Told>

export type Why = keyof typeof refusals

export class SignInRefusal extends ServiceError {
  readonly why: Why

  /** @param reason For the log. */
  constructor(why: Why, reason?: string) {
    super(refusals[why].code, refusals[why].text, reason === undefined ? {} : { reason })
    this.why = why
  }

  /** What each kind of caller is told. */
  get told(): Told {
    return refusals[this.why]
  }
}

const ofProvider: Readonly<Record<ProviderFailure, Why>> = {
  exchange: 'exchange_failed',
  identity: 'identity_failed',
  assertion: 'assertion_invalid',
  unreachable: 'exchange_failed',
}

/** @throws SignInRefusal in place of an error of the provider; any other error as it is. */
export async function askProvider<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ProviderError) throw new SignInRefusal(ofProvider[error.failure], error.message)
    throw error
  }
}

/** A sign-in that waited for the person, in one browser, and does not (any more). */
export function signInOver(): ServiceError {
  return new ServiceError(
    'bad_request',
    'Cannot go on with this sign-in: it took longer than ten minutes, was finished before, or was begun in another browser. Please begin again.',
  )
}
