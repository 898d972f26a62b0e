/** The store cannot be opened. The message is one sentence for the operator. @public */
export class StoreStartError extends Error {
  override readonly name = 'StoreStartError'

  constructor(sentence: string, cause?: unknown) {
    super(sentence, cause === undefined ? undefined : { cause })
  }
}

/** The database does not exist yet or needs a migration. A start creates or migrates it. */
export class NotCreatedError extends StoreStartError {}
