/**
 * Something that happens in one room and that rooms above it take part in: the room that owns the event does not know
 * who listens. Listeners run in the order of registration, and the emitter waits for each of them.
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
