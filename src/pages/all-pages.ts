/** The list of the pages of the core. The navigation, the page set and the routes of the owner's pages derive from it. */
import type { Route } from '../http/dispatch/route.ts'
import { failed } from './failed/page.ts'
import { front } from './front/page.ts'
import { reference } from './reference/page.ts'
import { signIn } from './sign-in/page.ts'
import { consent } from './consent/page.ts'
import { home } from './home/page.ts'
import { properties } from './properties/page.ts'
import { history } from './history/page.ts'
import { relationships } from './relationships/page.ts'
import { subscriptions } from './subscriptions/page.ts'
import { apps } from './apps/page.ts'
import { requests } from './requests/page.ts'
import { passwordAccess } from './password-access/page.ts'
import { operator } from './operator/page.ts'
import { activity } from './activity/page.ts'
import { archive } from './archive/page.ts'
import { moving } from './moving/page.ts'
import { passkeys } from './passkeys/page.ts'
import { settings } from './settings/page.ts'
import { live } from './live/page.ts'
import { type Asset, commonAssets } from './shared/assets.ts'
import type { PageGroup } from './shared/page-group.ts'
import type { View } from './shared/values.ts'

/** Page groups in the order of the navigation. */
export const coreGroups = [
  failed,
  front,
  reference,
  signIn,
  consent,
  home,
  requests,
  properties,
  history,
  relationships,
  subscriptions,
  apps,
  passwordAccess,
  activity,
  settings,
  passkeys,
  archive,
  moving,
  live,
  operator,
] as const

type Group = (typeof coreGroups)[number]
type Page = Group['pages'][number]

/** The pages of the core by name. */
export type CorePages = { readonly [P in Page as P['name']]: View<Parameters<P['view']>[0]> }

/** The groups of the core, with those of features in their places. */
export function groupsWith(ofFeatures: readonly PageGroup[]): readonly PageGroup[] {
  const all: PageGroup[] = [...coreGroups]
  for (const group of ofFeatures) {
    const before = all.findIndex(({ section }) => section !== undefined && section.path === group.after)
    all.splice(before === -1 ? all.length : before + 1, 0, group)
  }
  return all
}

/** The files that pages load. */
export const assets: readonly Asset[] = [
  ...Object.values(commonAssets),
  ...coreGroups.flatMap((group) => ('styles' in group ? group.styles : [])),
  ...coreGroups.flatMap((group) => ('scripts' in group ? group.scripts : [])),
]

type Routes = Extract<Group, { readonly routes: unknown }>['routes']

/** The deps of all handlers of the owner's pages. */
export type OwnerPageDeps = Routes extends (deps: infer Deps) => unknown ? Deps : never

export function ownerPageRoutes(deps: OwnerPageDeps): readonly Route[] {
  return coreGroups.flatMap((group) => ('routes' in group ? group.routes(deps) : []))
}
