/** The only module that reads environment variables. */
import type { Mode } from './option.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Sets the mode of `troupe dev` and `troupe serve`, unless the environment names a mode. Call it before the application
 * is loaded, because the application reads the mode then.
 */
export function setDefaultMode(mode: Mode): void {
  process.env['TROUPE_MODE'] ??= mode
}

export function processEnvironment(): Environment {
  return process.env
}
