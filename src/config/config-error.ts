/**
 * An invalid setting that prevents the start. The message is one sentence for the operator and contains no secret.
 *
 * @public
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** The message of an error, as a part of a sentence. */
export function problemIn(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '')
}
