/** A feature adds to the core of the service. It is one folder, and `list.ts` names those of the service. */
import type { ActorHandle } from '../app/actor-handle.ts'
import type { RecordImport } from '../archive/merge-archive.ts'
import type { ConfigOf, OptionTable } from '../config/option.ts'
import type { Route } from '../http/dispatch/route.ts'
import type { BackgroundWorker } from '../job/create.ts'
import { present } from '../json/present.ts'
import type { Access } from '../property/access.ts'
import type { ChangeSink } from '../property/change.ts'
import type { FeatureAct } from '../pages/activity/own-acts.ts'
import type { FeatureNames } from '../pages/relationships/deps.ts'
import type { PageDeps } from '../pages/shared/page.ts'
import type { PageGroup } from '../pages/shared/page-group.ts'
import type { PageSet } from '../pages/shared/page-set.ts'
import type { View } from '../pages/shared/values.ts'
import type { Rooms } from '../rooms.ts'
import type { Runtime } from '../runtime.ts'
import type { Migration } from '../store/store.ts'
import type { AdvanceApprovals } from '../trust/trust-deps.ts'
import type { Table } from '../table/table.ts'

/** A feature, for the list. `builtInFeature` makes one. */
export interface Feature {
  /** Unique. The folder of the feature has the same name. */
  readonly name: string
  /** The names of features that it uses. They start before it. */
  readonly needs: readonly string[]
  readonly tables: readonly Table[]
  /** The scripts of a feature of an application. The service has those of its own features. */
  readonly migrations: readonly Omit<Migration, 'feature'>[]
  readonly options: OptionTable
  readonly pages?: PageGroup
  /** The acts of an owner that the feature notes in the audit log. */
  readonly acts: readonly FeatureAct[]
  /** Tried by `troupe doctor` at a deployment. */
  readonly checks: readonly OutsideCheck[]
  /** Reported by `troupe doctor` on this machine. */
  readonly localChecks: readonly LocalCheck[]
  /** Whether the feature sends the mail of the service, with these settings and handlers. Throws a ConfigError for wrong ones. */
  readonly sendsMail: (given: Pick<RouteFacts, 'config' | 'registry'>) => boolean
  /** The routes, for documents. Their handlers cannot run. */
  readonly documentedRoutes: (facts: RouteFacts) => readonly Route[]
  readonly start: (core: Core) => StartedFeature
}

export type { RecordImport } from '../archive/merge-archive.ts'
export type { FeatureAct } from '../pages/activity/own-acts.ts'
export type { FeatureNames } from '../pages/relationships/deps.ts'

/** A check of `troupe doctor`, which acts as an owner from outside. */
export interface OutsideCheck {
  /** Short name, in the report. */
  readonly name: string
  readonly run: (owner: OutsideOwner) => Promise<CheckResult>
}

/** A line of `troupe doctor` about these settings. The command sends nothing and changes nothing. */
export interface LocalCheck {
  /** The word that begins the line: up to nine characters. */
  readonly name: string
  /** Null: the settings turn it off. @throws ConfigError for a problem that the command ends with. */
  readonly state: (facts: LocalFacts) => Promise<string | null>
}

export type LocalFacts = Pick<Runtime, 'config' | 'baseUrl'> & {
  /** Unix milliseconds. */
  readonly now: number
}

export interface CheckResult {
  /** A sentence. */
  readonly reason: string
  /** The remedy. Absent when nothing is wrong. */
  readonly fix?: string
}

/** An owner whose credentials the operator has given. */
export interface OutsideOwner {
  /** Sends JSON to a path below the actor. Credentials that the service does not accept end the check. */
  readonly send: (
    method: 'POST' | 'DELETE',
    path: string,
    body?: object,
  ) => Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }>
  /** Addresses that no service may call on behalf of a stranger. */
  readonly privateHosts: readonly string[]
  /** The remedy when it may call one. */
  readonly advice: string
}

/** The facts that routes are made of, besides the dependencies of their handlers. */
export type RouteFacts = Pick<Runtime, 'config' | 'registry' | 'identity' | 'baseUrl' | 'tables'>

/** The settings of a feature: `resolveConfig` reads them together with those of the core. */
export function settingsOf<Options extends OptionTable>(
  { config }: Pick<Runtime, 'config'>,
  _options: Options,
): ConfigOf<Options> {
  return config as Runtime['config'] & ConfigOf<Options>
}

/** The runtime and the rooms that features build on. */
export type Core = Rooms

/** A feature in one service. */
export interface StartedFeature {
  readonly routes: (page: FeaturePageDeps) => readonly Route[]
  /** Receives every change of an actor inside its transaction. */
  readonly changeSink?: ChangeSink
  readonly advanceApprovals?: AdvanceApprovals
  /** Work in the background, which wakes, settles and stops with the service. */
  readonly workers?: readonly BackgroundWorker[]
  /** The members of the handle of an actor. */
  readonly handle?: HandleMembers
  /** Imports for owners of the records with content in archives. */
  readonly recordImports?: readonly RecordImport[]
  /** The names to which rights of peers and apps apply. */
  readonly names?: readonly FeatureNames[]
}

/** The dependencies of every page, with the pages of the service by name. */
export type FeaturePageDeps = PageDeps & { readonly pages: PageSet }

/** The pages of a group by name. */
type ViewsOf<Group extends PageGroup> = {
  readonly [P in Group['pages'][number] as P['name']]: View<Parameters<P['view']>[0]>
}

/** Members of the handle of an actor, which are made when application code first reads them. */
export type HandleMembers = { readonly [Name in keyof ActorHandle]?: (access: Access) => ActorHandle[Name] }

interface Definition<Parts, Group extends PageGroup> {
  readonly name: string
  readonly needs?: readonly string[]
  readonly tables?: readonly Table[]
  readonly migrations?: Feature['migrations']
  readonly options?: OptionTable
  readonly pages?: Group
  readonly acts?: readonly FeatureAct[]
  readonly checks?: readonly OutsideCheck[]
  readonly localChecks?: readonly LocalCheck[]
  readonly sendsMail?: Feature['sendsMail']
  readonly start: (core: Core) => Omit<StartedFeature, 'routes'> & { readonly parts: Parts }
  /**
   * @param parts Returns the parts that `start` made. Only handlers may call it.
   * @param page Returns the deps of the handlers of pages. Only handlers may call it.
   */
  readonly routes?: (
    facts: RouteFacts,
    parts: () => Parts,
    page: () => PageDeps & { readonly pages: ViewsOf<Group> },
  ) => readonly Route[]
}

export function builtInFeature<Parts, Group extends PageGroup>({
  name,
  needs = [],
  tables = [],
  migrations = [],
  options = {},
  pages,
  acts = [],
  checks = [],
  localChecks = [],
  sendsMail = () => false,
  start,
  routes = () => [],
}: Definition<Parts, Group>): Feature {
  const notStarted = (): never => {
    throw new Error(`The feature ${name} is not started`)
  }
  return {
    name,
    needs,
    tables,
    migrations,
    options,
    ...present({ pages }),
    acts,
    checks,
    localChecks,
    sendsMail,
    documentedRoutes: (facts) => routes(facts, notStarted, notStarted),
    start: (core) => {
      const { parts, ...started } = start(core)
      return {
        ...started,
        routes: (page) => {
          // The pages of a service have those of its features.
          const own = page as unknown as PageDeps & { readonly pages: ViewsOf<Group> }
          return routes(
            core,
            () => parts,
            () => own,
          )
        },
      }
    },
  }
}
