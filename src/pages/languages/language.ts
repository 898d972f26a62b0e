/** The types of the languages of the pages. */
import type { english, EnglishNoun } from './english.ts'
import type { Look, LookOptions } from '../theme/look-options.ts'
import type { GermanNoun } from './german-noun.ts'

/**
 * All messages of the pages in one language, by group and name. A message is a string, or a function of its values.
 *
 * @experimental
 */
export type Messages = ReturnType<typeof english.messages>

/** Messages that replace those of a language. @experimental */
export type MessageOverrides = { readonly [Group in keyof Messages]?: Partial<Messages[Group]> }

export type Direction = 'ltr' | 'rtl'

/** The language of a page. */
export interface PageLanguage {
  /** BCP 47 tag, such as `de`. */
  readonly tag: string
  readonly direction: Direction
  readonly messages: Messages
  /** The logo and the accent color, the same in every language. */
  readonly look: Look
}

export type Theme = 'light' | 'dark'

/** How a browser sees a page. */
export interface Presentation extends PageLanguage {
  /** Null: that of the browser. */
  readonly theme: Theme | null
}

/**
 * The words and the look of the pages. English (`en`) and German (`de`) are built in. Languages have the names of BCP 47.
 *
 * @experimental
 */
export interface ConsoleOptions extends LookOptions {
  /** The language for readers whose languages the pages do not have. Default: `en`. */
  readonly language?: string
  /** The languages to offer, such as `['en']`. Default: all, with those of `languages`. */
  readonly offered?: readonly string[]
  /** Further languages, each with all messages. */
  readonly languages?: Readonly<Record<string, Messages>>
  /** Messages that replace those of a language: `{ en: { home: { getStarted: 'Start here' } } }`. */
  readonly messages?: Readonly<Record<string, MessageOverrides>>
  /** The nouns for an actor. Default: account, with its German forms. */
  readonly nouns?: { readonly en?: EnglishNoun; readonly de?: GermanNoun }
}
