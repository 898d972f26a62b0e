/** The sentences of the live script: plain strings, because a script cannot call the functions of a catalog. */
import type { Messages } from './language.ts'

/** Stands for the name of the changed property. */
const namePlace = '{name}'

export function liveWords({ properties, ...words }: Messages['live']): Readonly<Record<string, string>> {
  return { ...words, properties: properties(namePlace) }
}
