/** Validates the option `console` at the start, because JavaScript applications have no type checks. */
import { requireMembers } from '../../app/known-members.ts'
import { ConfigError } from '../../config/config-error.ts'
import type { ConsoleOptions } from './language.ts'

type Groups = Readonly<Record<string, Readonly<Record<string, unknown>>>>

const members = {
  language: true,
  offered: true,
  languages: true,
  messages: true,
  nouns: true,
  accent: true,
  logo: true,
} as const satisfies Record<keyof ConsoleOptions, true>

/** The forms of each noun; `false` marks a form that may be missing. */
const nounForms = {
  en: { one: true, many: true, a: true },
  de: { gender: true, one: true, genitive: true, many: true, accusative: false, dative: false },
} as const

/**
 * @param known The messages of English, which name all groups and messages.
 * @throws ConfigError
 */
export function requireConsole(
  options: ConsoleOptions,
  known: { readonly english: object; readonly builtIn: readonly string[] },
): void {
  requireMembers('Cannot use the option console:', members, options)
  const { languages = {}, messages = {}, nouns = {}, offered = [] } = options
  const groups = known.english as Groups
  for (const [tag, own] of Object.entries(languages)) {
    requireTag(tag)
    requireMessages(`console.languages.${tag}`, groups, own)
    requireAll(`console.languages.${tag}`, groups, own)
  }
  const available = [...known.builtIn, ...Object.keys(languages)]
  for (const tag of [...offered, ...Object.keys(messages)]) {
    if (!available.includes(tag))
      throw new ConfigError(
        `Option console names the language ${JSON.stringify(tag)}, which does not exist. The languages are ${available.join(', ')}.`,
      )
  }
  for (const [tag, own] of Object.entries(messages)) requireMessages(`console.messages.${tag}`, groups, own)
  requireMembers('Cannot use the option console.nouns:', { en: true, de: true }, nouns)
  for (const tag of ['en', 'de'] as const) requireNoun(`console.nouns.${tag}`, nounForms[tag], nouns[tag])
}

function requireTag(tag: string): void {
  try {
    if (Intl.getCanonicalLocales(tag)[0] === tag) return
  } catch {
    // The message below covers tags with a wrong form too.
  }
  throw new ConfigError(`Option console.languages has the name ${JSON.stringify(tag)}: expected a BCP 47 tag like fr.`)
}

/** Refuses groups and messages that do not exist, and messages of another kind. */
function requireMessages(where: string, groups: Groups, given: unknown): void {
  requireMembers(`Cannot use ${where}:`, namesOf(groups), given)
  for (const [group, own] of Object.entries(given as Record<string, unknown>)) {
    const known = groups[group] ?? {}
    requireMembers(`Cannot use ${where}.${group}:`, namesOf(known), own)
    for (const [name, message] of Object.entries(own as Record<string, unknown>)) {
      const isFunction = typeof known[name] === 'function'
      if (isFunction !== (typeof message === 'function') || message === null || message === undefined)
        throw new ConfigError(
          `Cannot use ${where}.${group}.${name}: it must be ${isFunction ? 'a function that returns the message' : 'a string'}.`,
        )
    }
  }
}

function requireAll(where: string, groups: Groups, given: object): void {
  for (const [group, known] of Object.entries(groups)) {
    const own = (given as Groups)[group]
    const missing = own === undefined ? null : Object.keys(known).find((name) => !Object.hasOwn(own, name))
    if (own === undefined || missing !== undefined)
      throw new ConfigError(
        `Cannot use ${where}: the message ${missing === null ? group : `${group}.${missing}`} is missing.`,
      )
  }
}

function namesOf(object: Readonly<Record<string, unknown>>): Readonly<Record<string, true>> {
  return Object.fromEntries(Object.keys(object).map((name) => [name, true]))
}

function requireNoun(where: string, forms: Readonly<Record<string, boolean>>, noun: object | undefined): void {
  if (noun === undefined) return
  requireMembers(`Cannot use the option ${where}:`, namesOf(forms), noun)
  for (const [form, isRequired] of Object.entries(forms)) {
    const given = (noun as Readonly<Record<string, unknown>>)[form]
    if (given === undefined && !isRequired) continue
    if (typeof given !== 'string' || given.trim() === '')
      throw new ConfigError(`Option ${where}.${form} must be a string with the form of the noun.`)
    if (form === 'gender' && !['masculine', 'feminine', 'neuter'].includes(given))
      throw new ConfigError(`Option ${where}.gender must be masculine, feminine or neuter.`)
  }
}
