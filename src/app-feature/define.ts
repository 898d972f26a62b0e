/** `defineFeature` of applications. */
import { ConfigError } from '../config/config-error.ts'
import type { ConfigOf, OptionTable } from '../config/option.ts'
import { type Core, type Feature, builtInFeature, settingsOf } from '../features/feature.ts'
import { defineRoute } from '../http/dispatch/define-route.ts'
import { jsonBody } from '../http/dispatch/request-body.ts'
import type { Route } from '../http/dispatch/route.ts'
import { actorErrors, writeErrors } from '../http/dispatch/schemas.ts'
import { json, noContent } from '../http/edge/response.ts'
import { Cleaning } from '../job/cleaning.ts'
import type { RequestFields } from '../json/fields.ts'
import { present } from '../json/present.ts'
import { localText } from '../pages/languages/local-text.ts'
import { open, seal, type Sealed } from '../secret/sealed.ts'
import { bindingOf } from '../secret/sealed-columns.ts'
import type {
  AppFeature,
  FeatureDefinition,
  FeatureRoute,
  FeatureRouteDefinition,
  FeatureService,
} from './definition.ts'
import { featurePages, pageRoutes } from './page.ts'
import { featureRequest } from './request.ts'
import { sealedColumn, tableOf } from './table.ts'

const made = new WeakMap<AppFeature, Feature>()

/**
 * Makes a feature for `troupe({ features: [bookmarks] })`. `troupe/feature` has an example.
 *
 * @experimental
 * @throws ConfigError for a name that is not lower-case letters, digits and `_`.
 */
export function defineFeature<Parts, Options extends OptionTable = OptionTable, Values extends object = object>(
  definition: FeatureDefinition<Parts, Options, Values>,
): AppFeature {
  const { name, needs = [], migrations = [], tables = [], acts = [], checks = [], routes = () => [], page } = definition
  if (!/^[a-z][a-z0-9_]{0,31}$/.test(name))
    throw new ConfigError(
      `Cannot use the feature ${JSON.stringify(name)}: its name must be 1 to 32 lower-case letters, digits and "_", and begin with a letter.`,
    )
  const options: OptionTable = definition.options ?? {}
  const feature = builtInFeature({
    name,
    needs,
    migrations,
    tables: tables.map(tableOf),
    options,
    acts: acts.map(({ spelling, sentence }) => ({ spelling, sentence: (_, tag) => localText(sentence, tag) })),
    checks,
    ...present({ pages: page === undefined ? undefined : featurePages(name, page) }),
    start: (core) => {
      const settings = settingsOf(core, options) as ConfigOf<Options>
      const { parts, workers = [], purge } = definition.start(serviceFor(core, definition), settings)
      const { store, now } = core
      const clean = (step: NonNullable<typeof purge>): Cleaning =>
        new Cleaning(core, `expired rows of the feature ${name}`, async () => {
          await store.write((tx) => step(tx, now()))
        })
      return { parts, workers: purge === undefined ? workers : [...workers, clean(purge)] }
    },
    routes: ({ config }, parts, pageDeps) => [
      // `route` makes all values of this type.
      ...(routes((row) => ownerRoute(name, row), parts) as readonly Route[]),
      ...(page === undefined || !config.webUi ? [] : pageRoutes(name, page, { parts, page: pageDeps })),
    ],
  })
  const own: AppFeature = { name }
  made.set(own, feature)
  return own
}

/** @throws ConfigError for a value that `defineFeature` of this package did not make. */
export function featureOf(own: AppFeature): Feature {
  const feature = made.get(own)
  if (feature === undefined)
    throw new ConfigError('Cannot use a feature: defineFeature of troupe/feature must make every value of features.')
  return feature
}

function serviceFor(
  { store, now, log, baseUrl, keyRing }: Core,
  { name, tables = [] }: Pick<FeatureDefinition<unknown>, 'name' | 'tables'>,
): FeatureService {
  return {
    store,
    now,
    log,
    baseUrl,
    secrets: (table, column) => {
      const declared = tables.find((one) => one.name === table)
      const place = declared === undefined ? undefined : sealedColumn(declared, column)
      if (place === undefined)
        throw new ConfigError(`Cannot seal values: the feature ${name} declares no sealed column ${table}.${column}.`)
      return {
        seal: (actorId, key, text) => seal(keyRing, text, bindingOf(place, actorId, ...key)),
        open: (actorId, key, sealed) => open(keyRing, sealed as Sealed, bindingOf(place, actorId, ...key)),
      }
    },
  }
}

function ownerRoute<Query extends RequestFields, Body extends RequestFields>(
  feature: string,
  { handler, path, body, responses, query, ...row }: FeatureRouteDefinition<Query, Body>,
): FeatureRoute {
  const [status = '200'] = Object.keys(responses)
  return defineRoute({
    ...row,
    path: `/:actor${path}`,
    access: `feature/${feature}`,
    ...present({ query, request: body === undefined ? undefined : jsonBody('read the body', body) }),
    responses: { ...responses, ...(row.method === 'GET' ? actorErrors : writeErrors) },
    handler: async (exchange) => {
      const answer = await handler({ ...exchange, ...featureRequest(exchange) } as Parameters<typeof handler>[0])
      return answer === undefined ? noContent() : json(Number(status), answer)
    },
  })
}
