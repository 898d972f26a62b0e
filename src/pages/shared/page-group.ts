/** The declaration of one folder of pages. `all-pages.ts` lists those of the core, and features declare theirs. */
import type { Route } from '../../http/dispatch/route.ts'
import type { Asset } from './assets.ts'
import type { PageContext, Section } from './layout.ts'
import type { Html } from './values.ts'

export interface PageGroup {
  /** Link in the navigation of the owner's pages. Other pages link to a group without one. */
  readonly section?: Section
  /** Path of the section behind which that of a feature has its place. Default: the last place. */
  readonly after?: string
  /** Path of a page that invites people. The pages of relationships and first steps link to it. */
  readonly invitesAt?: string
  /** Path of the page of the members of a group. The pages of relationships link to it. */
  readonly membersAt?: string
  readonly pages: readonly PageDefinition[]
  /** Style sheets that the views name. */
  readonly styles?: readonly Asset[]
  /** Scripts that the views name. */
  readonly scripts?: readonly Asset[]
  /** Routes below `/<actor>/www`, which close over the deps of their handlers. */
  readonly routes?: (deps: never) => readonly Route[]
}

export interface PageDefinition {
  /** Name under which an application replaces the page, unique among all pages. */
  readonly name: string
  /** File that replaces the page in the template folder of an application. */
  readonly template: string
  readonly view: (values: never, context: PageContext) => Html
}
