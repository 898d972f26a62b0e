/** Invalid arguments on the command line. The message is one sentence for the operator. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
