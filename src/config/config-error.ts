/** A setting that stops the start. The message is one sentence for the operator and holds no secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
