/** The command line asks for something that does not exist. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
