/** The pages of a service: built-in pages and their replacements by the application. */
import { navigation, pageDefinitions, type Pages } from '../all-pages.ts'
import type { Languages } from '../languages/languages.ts'
import type { Templates } from './templates.ts'
import type { Html, SiteValues } from './values.ts'

/** The built-in pages, in the language that their values name. */
function builtInPages(languages: Languages): Pages {
  return Object.fromEntries(
    pageDefinitions.map(({ name, view }) => [
      name,
      (values: never) => {
        const { language }: SiteValues = values
        return view(values, { navigation, messages: languages.find(language).messages })
      },
    ]),
  ) as Pages
}

/** Name of the template file that replaces each page in an application's folder. */
export const templateNames = Object.fromEntries(
  pageDefinitions.map(({ name, template }) => [name, template]),
) as Readonly<Record<keyof Pages, string>>

/** Replacements of built-in pages, and application-defined pages that the `www` handler names. @experimental */
export interface OwnPages extends Partial<Pages> {
  readonly custom?: Readonly<Record<string, (values: Readonly<Record<string, unknown>>) => Html>>
}

export interface PageSet extends Pages {
  /** Returns an application-defined page by name. */
  readonly find: (name: string) => ((values: Readonly<Record<string, unknown>>) => Html) | null
}

/** Builds the page set. Functions override templates, and both override built-in pages. */
export function pageSet({ custom = {}, ...own }: OwnPages, templates: Templates | null, languages: Languages): PageSet {
  const fromTemplates = Object.fromEntries(
    Object.entries(templateNames).flatMap(([page, name]) => {
      const template = templates?.find(name) ?? null
      return template === null ? [] : [[page, template]]
    }),
  )
  return {
    ...builtInPages(languages),
    ...fromTemplates,
    ...own,
    find: (name) => (Object.hasOwn(custom, name) ? (custom[name] ?? null) : (templates?.find(name) ?? null)),
  }
}
