/** The `state` of sign-ins at providers: server-held, bound to provider and browser, good once and for ten minutes. */
import { createHash } from 'node:crypto'
import { randomToken } from '../secret/random.ts'
import type { Store } from '../store/store.ts'
import type { OneTime } from '../token/one-time.ts'
import type { Flow } from './flow.ts'

/** What the callback has to know. */
export interface Begun {
  readonly flow: Flow
  /** As it was asked for: `google-mobile`. */
  readonly provider: string
  readonly nonce: string
  /** Null where the application keeps the verifier, and shows it when it redeems the code. */
  readonly codeVerifier: string | null
  /** False for what a program began: the browser that comes back is then another one, and gets no cookie. */
  readonly isBound: boolean
}

export interface NewState {
  readonly flow: Flow
  readonly provider: string
  /** The mark of the browser that begins and will come back; null where no browser does. */
  readonly browser: string | null
  /** The application's own, S256; made here unless given. */
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

  /** Null for one that is unknown, used, expired or another browser's; that one is not spent by it. */
  async consume(state: string, browser: string | null): Promise<Begun | null> {
    const presented = { purpose: 'state', value: state, browser } as const
    return this.#store.write(async (tx) => (await this.#oneTime.consume<Begun>(tx, presented))?.data ?? null)
  }

  /** As `consume`, and it stays good. */
  async peek(state: string, browser: string | null): Promise<Begun | null> {
    const presented = { purpose: 'state', value: state, browser } as const
    return this.#store.read(async (q) => (await this.#oneTime.peek<Begun>(q, presented))?.data ?? null)
  }
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}
