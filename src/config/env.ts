/** The only reader of the environment. */
import type { Mode } from './options.ts'

export type Environment = Readonly<Record<string, string | undefined>>

let modeOfCommand: Mode | undefined

/** `troupe dev` and `troupe serve` decide the mode when the environment does not. */
export function setModeOfCommand(mode: Mode): void {
  modeOfCommand = mode
}

export function processEnvironment(): Environment {
  return modeOfCommand === undefined ? process.env : { TROUPE_MODE: modeOfCommand, ...process.env }
}
