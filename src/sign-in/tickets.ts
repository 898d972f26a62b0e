/** Tickets: the service keeps a code until the application redeems it, so that no URL contains a code or token. */
import { ServiceError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import type { OneTime } from '../token/one-time.ts'
import type { Person, Providers } from './provider.ts'
import { askProvider } from './refusal.ts'
import type { Begun } from './states.ts'

interface Waiting {
  readonly begun: Begun
  readonly code: string
  readonly user?: string
  readonly issuer?: string
}

export class Tickets {
  readonly #store: Store
  readonly #oneTime: OneTime
  readonly #providers: Providers

  constructor({ store, oneTime, providers }: { store: Store; oneTime: OneTime; providers: Providers }) {
    this.#store = store
    this.#oneTime = oneTime
    this.#providers = providers
  }

  issue(waiting: Waiting): Promise<string> {
    const { provider } = waiting.begun
    return this.#store.write((tx) => this.#oneTime.create(tx, { purpose: 'ticket', data: waiting, provider }))
  }

  /**
   * Redeems a ticket. It is consumed before the code, which is also valid only once.
   *
   * @param codeVerifier The application's own verifier, if it keeps one.
   * @throws ServiceError `bad_request` for an invalid ticket; SignInRefusal.
   */
  async redeem(
    ticket: string,
    codeVerifier: string | undefined,
  ): Promise<{ readonly person: Person; readonly provider: string; readonly trustType: string | null }> {
    const found = await this.#store.write((tx) =>
      this.#oneTime.consume<Waiting>(tx, { purpose: 'ticket', value: ticket }),
    )
    const provider = found === null ? null : this.#providers.find(found.provider)
    if (found === null || provider === null) {
      throw new ServiceError('bad_request', 'invalid_grant: the ticket is unknown, used or expired')
    }
    const { begun, code, user, issuer } = found.data
    const verifier = begun.codeVerifier ?? codeVerifier
    if (verifier === undefined) {
      throw new ServiceError('bad_request', 'invalid_request: code_verifier is missing')
    }
    const person = await askProvider(
      provider.exchange({
        code,
        codeVerifier: verifier,
        nonce: begun.nonce,
        user,
        issuer,
      }),
    )
    const trustType = begun.flow.kind === 'spa' ? begun.flow.trustType : null
    return { person, provider: provider.kind, trustType }
  }
}
