/** The pages of the service: those of the core and of its features. */
import { coreGroups } from '../pages/all-pages.ts'
import type { Html, View } from '../pages/shared/values.ts'
import { filePages } from './files/pages/page.ts'
import { memberPages } from './groups/pages/page.ts'
import { invitationPages } from './invitations/pages/page.ts'
import { mailPages } from './mail/page.ts'

const groups = [...coreGroups, filePages, memberPages, invitationPages, mailPages] as const

type Group = (typeof groups)[number]
type Page = Group['pages'][number]

/** The pages by name, each a function from plain data to safe HTML. @experimental */
export type Pages = { readonly [P in Page as P['name']]: View<Parameters<P['view']>[0]> }

/** The values of a page. @experimental */
export type PageValues<Name extends keyof Pages> = Parameters<Pages[Name]>[0]

/** Replacements of built-in pages, and application-defined pages that the `www` handler names. @experimental */
export interface OwnPages extends Partial<Pages> {
  readonly custom?: Readonly<Record<string, (values: Readonly<Record<string, unknown>>) => Html>>
}

/** Name of the template file that replaces each page in an application's folder. */
export const templateNames = Object.fromEntries(
  groups.flatMap(({ pages }) => pages.map(({ name, template }) => [name, template])),
) as Readonly<Record<keyof Pages, string>>
