/** The declaration of a feature of an application. */
import type { Caller } from '../caller.ts'
import type { ConfigOf, OptionTable } from '../config/option.ts'
import type { OutsideCheck } from '../features/feature.ts'
import type { BackgroundWorker } from '../job/create.ts'
import type { RequestFields, ValuesOf } from '../json/fields.ts'
import type { ActSpelling } from '../observe/own-acts.ts'
import type { LocalText } from '../pages/languages/local-text.ts'
import type { ActorPageValues, Html } from '../pages/shared/values.ts'
import type { MemberCheck } from '../table/shapes.ts'

/** A feature that `defineFeature` made, for `troupe({ features: [bookmarks] })`. @experimental */
export interface AppFeature {
  readonly name: string
}

/**
 * A feature of an application: tables, settings, routes, a page and work in the background, beside those of the service.
 * `troupe/feature` has an example.
 *
 * @experimental
 */
export interface FeatureDefinition<Parts, Options extends OptionTable = OptionTable, Values extends object = object> {
  /** Lower-case letters, digits and `_`, such as `bookmarks`. The service and its other features have other names. */
  readonly name: string
  /** The names of features that this one uses. They start before it. */
  readonly needs?: readonly string[]
  /** Run at a start after those of the service, each once, in the order of their numbers. */
  readonly migrations?: readonly FeatureMigration[]
  /** The tables that the migrations create. */
  readonly tables?: readonly FeatureTable[]
  /** The settings. Their environment variables begin with `TROUPE_`, the name of the feature in capitals, and `_`. */
  readonly options?: Options
  /** The acts of an owner that handlers note in the audit log. */
  readonly acts?: readonly { readonly spelling: ActSpelling; readonly sentence: LocalText }[]
  /** Tried by `troupe doctor https://…` as an owner. */
  readonly checks?: readonly OutsideCheck[]
  /** The page of the feature. */
  readonly page?: FeaturePage<Parts, Values>
  /** Runs once at the start of a service. */
  readonly start: (service: FeatureService, settings: ConfigOf<Options>) => StartedParts<Parts>
  /** @param parts Returns the parts that `start` made. Only handlers may call it, because documents show routes of no service. */
  readonly routes?: (route: DefineFeatureRoute, parts: () => Parts) => readonly FeatureRoute[]
}

/** A script that changes the tables of a feature. It never changes once a database has run it. @experimental */
export interface FeatureMigration {
  /** From 1, without a gap. */
  readonly number: number
  readonly name: string
  /** For SQLite and PostgreSQL, in the notation of `docs/features.md`. */
  readonly sql: string
}

/**
 * A table with rows of actors. Its column `actor_id` refers to `actor (id)` with `ON DELETE CASCADE`, and is the first one of its
 * key. A start compares the declaration with the migrations.
 *
 * @experimental
 */
export interface FeatureTable {
  /** The name of the feature, or that name with `_` and more behind it. */
  readonly name: string
  /** The columns of the key after `actor_id`. */
  readonly key: readonly string[]
  /** Columns whose values `FeatureService.secrets` sealed, with the name of these values for an operator who lost their key. */
  readonly sealed?: Readonly<Record<string, string>>
  /** Its rows in an archive. Default: archives and moves leave them out. */
  readonly records?: {
    /** The kind in the archive. */
    readonly kind: string
    /** The columns that an archive has, those of the key included. */
    readonly members: readonly FeatureMember[]
  }
  /** The number of rows that an actor may have. */
  readonly quota?: FeatureQuota
}

/** A column in an archive. @experimental */
export interface FeatureMember {
  readonly name: string
  /** `time`: Unix milliseconds. `json`: JSON as text. `flag`: 0 or 1. `secret`: a sealed column, which only archives with secrets have. */
  readonly type: 'text' | 'integer' | 'flag' | 'time' | 'json' | 'secret'
  /** Completes the sentence “it is not …” for a value, given as JSON, that the feature cannot use. Null: the value is right. */
  readonly check?: MemberCheck
  readonly isNullable?: true
}

/** A limit of rows. A change beyond it is refused with 507. @experimental */
export interface FeatureQuota {
  /** The option with the limit, by its name in `options`. */
  readonly setting: string
  /** The counted rows, as they follow a number: `bookmarks`. */
  readonly unit: string
  /** The sentence that says how the owner frees some. */
  readonly remedy: string
}

/** The page of a feature, below `/<actor>/www`, with its link in the navigation. @experimental */
export interface FeaturePage<Parts, Values extends object> {
  /** Below `/<actor>/www`, such as `/bookmarks`. */
  readonly path: `/${string}`
  /** The text of the link, and the title of the page. */
  readonly label: LocalText
  readonly icon: 'check' | 'clock' | 'files' | 'key' | 'link' | 'lock' | 'people' | 'pencil' | 'search'
  /** Path of the page behind which the link has its place. Default: the last place. */
  readonly after?: string
  readonly load: (parts: Parts, actorId: string) => Promise<Values>
  /** The content, which begins with its `h1`. Forms have the hidden field `csrf_token`. */
  readonly view: (values: Values & ActorPageValues) => Html
  /** The form needs a recent sign-in, because its act outlives or widens a session. `fresh_href` of the values leads there. */
  readonly freshSignIn?: true
  /** Handles the form of the page. A ServiceError shows the page again with its message. */
  readonly submit?: (
    parts: Parts,
    form: { readonly get: (field: string) => string | undefined },
    request: FeatureRequest,
  ) => Promise<'saved' | 'added' | 'deleted'>
  /** The fields of the form, for documents. */
  readonly fields?: readonly string[]
}

/** The parts of the service that a feature of an application uses. @experimental */
export interface FeatureService {
  readonly store: FeatureStore
  /** Unix milliseconds, by the clock of the store. */
  readonly now: () => number
  readonly log: Readonly<Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>>
  /** The public URL of the service, without a trailing slash. */
  readonly baseUrl: string
  /** Seals and opens the values of a column that a table of the feature declares in `sealed`. */
  readonly secrets: (table: string, column: string) => FeatureSecrets
}

export interface FeatureSecrets {
  /** @param key The values of the key after the actor. */
  readonly seal: (actorId: string, key: readonly string[], text: string) => string
  /** @throws ServiceError `secret_lost` when the key of the service is missing. */
  readonly open: (actorId: string, key: readonly string[], sealed: string) => string
}

/** The database. Statements have the notation of `docs/features.md`, and name the actor. @experimental */
export interface FeatureStore {
  readonly read: <T>(work: (q: FeatureQueries) => Promise<T>) => Promise<T>
  readonly write: <T>(work: (tx: FeatureTransaction) => Promise<T>) => Promise<T>
  /** Like `write`, with the lock of the actor. @throws ServiceError `actor_not_found`, `actor_moving`, `actor_moved` */
  readonly writeActor: <T>(actorId: string, work: (tx: FeatureTransaction) => Promise<T>) => Promise<T>
}

type FeatureParam = string | number | null

export interface FeatureQueries {
  all<R extends object>(sql: string, ...params: FeatureParam[]): Promise<R[]>
  get<R extends object>(sql: string, ...params: FeatureParam[]): Promise<R | undefined>
}

export interface FeatureTransaction extends FeatureQueries {
  /** Returns the number of affected rows. */
  run(sql: string, ...params: FeatureParam[]): Promise<number>
}

interface StartedParts<Parts> {
  readonly parts: Parts
  /** Work in the background, which wakes, settles and stops with the service. */
  readonly workers?: readonly BackgroundWorker[]
  /** Deletes expired rows, once an hour. */
  readonly purge?: (tx: FeatureTransaction, now: number) => Promise<unknown>
}

export interface FeatureRoute {
  readonly id: string
}

/** A request of an authenticated owner. */
export interface FeatureRequest {
  /** `kind`: as `app.kind` declares it. */
  readonly actor: { readonly id: string; readonly creator: string; readonly kind: string }
  readonly caller: Caller
  /** Notes an act of `acts` in the audit log, if the request succeeds and the caller is the owner. */
  readonly note: (spelling: ActSpelling, subject?: Readonly<Record<string, string>>) => void
}

/** Makes a route below `/<actor>`, to which only the owner has rights. @experimental */
export type DefineFeatureRoute = <Query extends RequestFields, Body extends RequestFields>(
  row: FeatureRouteDefinition<Query, Body>,
) => FeatureRoute

export interface FeatureRouteDefinition<Query extends RequestFields, Body extends RequestFields> {
  /** Unique among all routes: the operation id in OpenAPI. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below the actor. `:name` matches one segment. */
  readonly path: `/${string}`
  readonly summary: string
  readonly query?: Query
  /** The members of the JSON object in the body. */
  readonly body?: Body
  /** The successful responses, by status. The first one is sent. */
  readonly responses: Readonly<Record<number, string | { readonly text: string; readonly schema?: object }>>
  /** The act outlives or widens a session, so it needs a recent sign-in. */
  readonly freshSignIn?: 'all'
  /** The response has a secret, so the service does not store it for a repetition by `Idempotency-Key`. */
  readonly showsSecret?: true
  /** Returns the JSON of the response; undefined for 204. */
  readonly handler: (
    request: FeatureRequest & {
      readonly params: Readonly<Record<string, string>>
      readonly query: ValuesOf<Query>
      /** Reads the body. @throws ServiceError when it does not fit `body`. */
      readonly body: () => Promise<ValuesOf<Body>>
    },
  ) => Promise<object | undefined>
}
