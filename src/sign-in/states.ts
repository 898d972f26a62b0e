/** The `state` of sign-ins: stored here, bound to provider and browser, valid once within ten minutes. */
import { createHash } from 'node:crypto'
import { randomToken } from '../secret/random.ts'
import type { Store } from '../store/store.ts'
import type { OneTime } from '../token/one-time.ts'
import type { Flow } from './flow.ts'
import { providerKindOf } from './providers/provider-config.ts'
import { unknownState } from './refusal.ts'

/** Data that the callback needs about the sign-in. */
export interface Begun {
  readonly flow: Flow
  /** Name of the requested provider, including its suffix, such as `google-mobile`. */
  readonly provider: string
  readonly nonce: string
  /** Null when the application keeps the verifier and presents it with the code. */
  readonly codeVerifier: string | null
  /** False when a program began the sign-in. Then any browser may return, and it gets no cookie. */
  readonly isBound: boolean
}

export interface NewState {
  readonly flow: Flow
  readonly provider: string
  /** The cookie of the browser that begins and must return. Null when a program begins. */
  readonly browser: string | null
  /** The application's own S256 challenge. Default: the service generates a verifier. */
  readonly codeChallenge?: string | undefined
}

export interface State {
  readonly state: string
  readonly nonce: string
  readonly codeChallenge: string
}

/** 64 characters of base64url (RFC 7636 section 4.1 wants 43 to 128). */
const verifierBytes = 48

export class States {
  readonly #store: Store
  readonly #oneTime: OneTime

  constructor(store: Store, oneTime: OneTime) {
    this.#store = store
    this.#oneTime = oneTime
  }

  async begin({ flow, provider, browser, codeChallenge }: NewState): Promise<State> {
    const nonce = randomToken(32)
    const codeVerifier = codeChallenge === undefined ? randomToken(verifierBytes) : null
    const begun: Begun = { flow, provider, nonce, codeVerifier, isBound: browser !== null }
    const state = await this.#store.write((tx) =>
      this.#oneTime.create(tx, { purpose: 'state', data: begun, provider, browser }),
    )
    return { state, nonce, codeChallenge: codeChallenge ?? challengeOf(codeVerifier ?? '') }
  }

  /** Consumes a state. Null when it is unknown, used, expired or another browser's; another browser's is not consumed. */
  async consume(state: string, browser: string | null): Promise<Begun | null> {
    const presented = { purpose: 'state', value: state, browser } as const
    return this.#store.write(async (tx) => (await this.#oneTime.consume<Begun>(tx, presented))?.data ?? null)
  }

  /** Like `consume`, but the state remains valid. */
  async peek(state: string, browser: string | null): Promise<Begun | null> {
    const presented = { purpose: 'state', value: state, browser } as const
    return this.#store.read(async (q) => (await this.#oneTime.peek<Begun>(q, presented))?.data ?? null)
  }

  /** @throws ServiceError `bad_request` unless this browser has begun the sign-in at this provider, or at a variant of it. */
  async require(state: string, browser: string | null, provider: string): Promise<Begun> {
    const begun = await this.peek(state, browser)
    if (begun === null || providerKindOf(begun.provider) !== provider) throw unknownState()
    return begun
  }
}

/** The S256 challenge of a verifier (RFC 7636 section 4.2). */
export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}
