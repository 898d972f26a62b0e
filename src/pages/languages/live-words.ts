/** The sentences of the live script: plain strings, because a script cannot call the functions of a catalog. */
import { english } from './english.ts'
import type { Messages } from './language.ts'

/** Stands for the name of the changed property. */
const namePlace = '{name}'

function liveWords({ properties, ...words }: Messages['live']): Readonly<Record<string, string>> {
  return { ...words, properties: properties(namePlace) }
}

/** The sentences that the script has without a page. */
export const builtInWords = liveWords(english.messages(english.noun).live)

/** The sentences that differ from those that the script has, as JSON. Null: all are the same. */
export function otherWords(live: Messages['live']): string | null {
  const others = Object.entries(liveWords(live)).filter(([name, words]) => builtInWords[name] !== words)
  return others.length === 0 ? null : JSON.stringify(Object.fromEntries(others))
}
