/** The languages of the pages: the built-in ones and those of the application, and the choice of one for a request. */
import { parseAccept } from 'hono/utils/accept'
import { ConfigError } from '../../config/config-error.ts'
import type { RequestHead } from '../../http/edge/request.ts'
import { english } from './english.ts'
import { german } from './german.ts'
import type { ConsoleOptions, Direction, MessageOverrides, Messages, PageLanguage, Presentation } from './language.ts'
import { type Asset, commonAssets } from '../shared/assets.ts'
import { lookOf } from '../theme/look.ts'
import type { Look } from '../theme/look-options.ts'
import { inTimeZone, preferencesOf } from './preferences.ts'
import { requireConsole } from './validate-console.ts'

export class Languages {
  readonly #byTag: ReadonlyMap<string, PageLanguage>
  readonly #byDefault: PageLanguage
  readonly look: Look

  /** @throws ConfigError */
  constructor(options: ConsoleOptions = {}) {
    requireConsole(options, { english: english.messages(english.noun), builtIn: ['en', 'de'] })
    const { languages = {}, messages = {}, nouns = {}, offered, language = 'en' } = options
    const all: Readonly<Record<string, Messages>> = {
      en: english.messages(nouns.en ?? english.noun),
      de: german.messages(nouns.de ?? german.noun),
      ...languages,
    }
    this.look = lookOf(options)
    this.#byTag = new Map(
      (offered ?? Object.keys(all)).flatMap((tag) => {
        const own = all[tag]
        if (own === undefined) return []
        return [[tag.toLowerCase(), this.#languageOf(tag, withOverrides(own, messages[tag] ?? {}))] as const]
      }),
    )
    const byDefault = this.#byTag.get(language.toLowerCase())
    if (byDefault === undefined)
      throw new ConfigError(
        `Option console.language is ${JSON.stringify(language)}, which is not offered. The offered languages are ${[...this.#byTag.values()].map(({ tag }) => tag).join(', ')}.`,
      )
    this.#byDefault = byDefault
  }

  /**
   * How the browser of a request sees the pages. The language is that of the cookie, else the first of `Accept-Language` that
   * the pages have, else the default.
   */
  of(request: RequestHead): Presentation {
    const { language, theme, timeZone } = preferencesOf(request)
    const found = this.#lookUp(language ?? '') ?? this.accepted(request.header('accept-language') ?? '')
    return { ...found, messages: inTimeZone(found.messages, timeZone), theme }
  }

  /** The files of the look, beside those of every service. */
  get ownAssets(): readonly Asset[] {
    const { logo, accent } = this.look
    return [...(logo === commonAssets.logo ? [] : [logo]), ...(accent === null ? [] : [accent])]
  }

  #languageOf(tag: string, messages: Messages): PageLanguage {
    return { tag, direction: directionOf(tag), messages, look: this.look }
  }

  /** The languages that the pages have. */
  get offered(): readonly PageLanguage[] {
    return [...this.#byTag.values()]
  }

  /** The first language of an `Accept-Language` header that the pages have, else the default. */
  accepted(header: string): PageLanguage {
    for (const { type: range, q } of parseAccept(header)) {
      const found = q === 0 ? undefined : this.#lookUp(range)
      if (found !== undefined) return found
    }
    return this.#byDefault
  }

  /** The language with this tag, for a page that was made in it; the default for any other tag. */
  find(tag: string): PageLanguage {
    return this.#byTag.get(tag.toLowerCase()) ?? this.#byDefault
  }

  /** RFC 4647 section 3.4: removes subtags from the end until a language has the name. */
  #lookUp(range: string): PageLanguage | undefined {
    const subtags = range.toLowerCase().split('-')
    while (subtags.length > 0) {
      const found = this.#byTag.get(subtags.join('-'))
      if (found !== undefined) return found
      subtags.pop()
    }
    return undefined
  }
}

function directionOf(tag: string): Direction {
  return new Intl.Locale(tag).getTextInfo().direction === 'rtl' ? 'rtl' : 'ltr'
}

function withOverrides(own: Messages, overrides: MessageOverrides): Messages {
  const groups = Object.entries(own).map(([group, messages]) => [
    group,
    { ...messages, ...(overrides as Readonly<Record<string, object | undefined>>)[group] },
  ])
  return Object.fromEntries(groups) as Messages
}
