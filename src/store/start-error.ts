/** Why the store cannot be opened, as one sentence for the operator. */
export class StoreStartError extends Error {
  override readonly name = 'StoreStartError'

  constructor(sentence: string, cause?: unknown) {
    super(sentence, cause === undefined ? undefined : { cause })
  }
}
