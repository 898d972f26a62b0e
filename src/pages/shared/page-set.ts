/** The pages of a service: the built-in ones, and what an application puts in their place. */
import { navigation, pageDefinitions, type Pages } from '../all-pages.ts'
import type { Templates } from './templates.ts'
import type { Html } from './values.ts'

const builtInPages = Object.fromEntries(
  pageDefinitions.map(({ name, view }) => [name, (values: never) => view(values, navigation)]),
) as Pages

/** The name of the template that stands for a page, in a folder of the application's own. */
export const templateNames = Object.fromEntries(
  pageDefinitions.map(({ name, template }) => [name, template]),
) as Readonly<Record<keyof Pages, string>>

/** What an application puts in the place of built-in pages, and pages of its own that its `www` handler names. */
export interface OwnPages extends Partial<Pages> {
  readonly custom?: Readonly<Record<string, (values: Readonly<Record<string, unknown>>) => Html>>
}

export interface PageSet extends Pages {
  /** A page that is neither of these: by the name that the application gave it. */
  readonly find: (name: string) => ((values: Readonly<Record<string, unknown>>) => Html) | null
}

/** Functions stand above templates, and both above what is built in. */
export function pageSet({ custom = {}, ...own }: OwnPages, templates: Templates | null): PageSet {
  const fromTemplates = Object.fromEntries(
    Object.entries(templateNames).flatMap(([page, name]) => {
      const template = templates?.find(name) ?? null
      return template === null ? [] : [[page, template]]
    }),
  )
  return {
    ...builtInPages,
    ...fromTemplates,
    ...own,
    find: (name) => (Object.hasOwn(custom, name) ? (custom[name] ?? null) : (templates?.find(name) ?? null)),
  }
}
