/** Adds a provider of this service to the configured ones. */
import type { Provider, ProviderProblem, Providers } from '../provider.ts'
import { variantOf } from './platform-variant.ts'

export class ProvidersWithOwn implements Providers {
  readonly #own: Provider
  readonly #others: Providers
  readonly #position: number

  /** @param position Place of the own provider: the first one is the default. */
  constructor(own: Provider, others: Providers, position = 0) {
    this.#own = own
    this.#others = others
    this.#position = position
  }

  get all(): readonly Provider[] {
    return this.#others.all.toSpliced(this.#position, 0, this.#own)
  }

  find(name: string): Provider | null {
    return name === this.#own.name ? this.#own : (this.#others.find(name) ?? variantOf(this.#own, name))
  }

  ready(): Promise<void> {
    return this.#others.ready()
  }

  problems(): Promise<readonly ProviderProblem[]> {
    return this.#others.problems()
  }
}
