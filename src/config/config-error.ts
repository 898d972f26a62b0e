/** An invalid setting that prevents the start. The message is one sentence for the operator and contains no secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
