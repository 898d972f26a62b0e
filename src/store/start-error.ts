/** Why the store cannot be opened, as one sentence for the operator. */
export class StoreStartError extends Error {
  override readonly name = 'StoreStartError'

  constructor(sentence: string, cause?: unknown) {
    super(sentence, cause === undefined ? undefined : { cause })
  }
}

/** The store is not there yet, or not as this release needs it; a start would mend that. */
export class NotMadeYetError extends StoreStartError {}
