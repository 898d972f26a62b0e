/** The only reader of the environment. */
import type { Mode } from './options.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Sets the mode of `troupe dev` and `troupe serve`, unless the environment names a mode. The application reads it when it is loaded. */
export function setDefaultMode(mode: Mode): void {
  process.env['TROUPE_MODE'] ??= mode
}

export function processEnvironment(): Environment {
  return process.env
}
