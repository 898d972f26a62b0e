/**
 * An event that a room emits and that rooms above it handle. The emitting room does not import its listeners.
 * Listeners run in the order of registration, and the emitter waits for each of them.
 */
export class DomainEvent<Args extends readonly unknown[]> {
  readonly #listeners: ((...args: Args) => unknown)[] = []

  on(listener: (...args: Args) => unknown): void {
    this.#listeners.push(listener)
  }

  readonly emit = async (...args: Args): Promise<void> => {
    for (const listener of this.#listeners) await listener(...args)
  }
}
