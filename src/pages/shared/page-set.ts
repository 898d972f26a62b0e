/** The pages of a service: built-in pages and their replacements by the application. */
import type { CorePages } from '../all-pages.ts'
import type { Languages } from '../languages/languages.ts'
import type { PageGroup } from './page-group.ts'
import type { Templates } from './templates.ts'
import type { Html, SiteValues, View } from './values.ts'

/** Replacements of built-in pages, and application-defined pages. */
interface Replacements extends Partial<CorePages> {
  readonly custom?: Readonly<Record<string, (values: Readonly<Record<string, unknown>>) => Html>>
}

/** The pages of the core. Pages of features have their names beside them. */
export interface PageSet extends CorePages {
  /** Returns an application-defined page by name. */
  readonly find: (name: string) => ((values: Readonly<Record<string, unknown>>) => Html) | null
}

interface PageSetNeeds {
  /** The pages of the core and of features, in the order of the navigation. */
  readonly groups: readonly PageGroup[]
  readonly templates: Templates | null
  readonly languages: Languages
}

/** Builds the page set. Functions override templates, and both override built-in pages. */
export function pageSet(
  { custom = {}, ...own }: Replacements,
  { groups, templates, languages }: PageSetNeeds,
): PageSet {
  const navigation = groups.flatMap(({ section }) => (section === undefined ? [] : [section]))
  const invitesAt = groups.find((group) => group.invitesAt !== undefined)?.invitesAt ?? null
  const membersAt = groups.find((group) => group.membersAt !== undefined)?.membersAt ?? null
  const definitions = groups.flatMap(({ pages }) => pages)
  const views = Object.fromEntries(
    definitions.map(({ name, view, template }): [string, View<never>] => {
      const builtIn = (values: never): Html => {
        const { language }: SiteValues = values
        return view(values, { navigation, invitesAt, membersAt, messages: languages.find(language).messages })
      }
      return [name, templates?.find(template) ?? builtIn]
    }),
  ) as unknown as CorePages
  return {
    ...views,
    ...own,
    find: (name) => (Object.hasOwn(custom, name) ? (custom[name] ?? null) : (templates?.find(name) ?? null)),
  }
}
