/** The page of a feature of an application. */
import { defineRoute } from '../http/dispatch/define-route.ts'
import { pageForm } from '../http/dispatch/request-body.ts'
import type { PageExchange, Route } from '../http/dispatch/route.ts'
import { formResponses, pageResponses, writeErrors } from '../http/dispatch/schemas.ts'
import type { HttpResponse } from '../http/edge/response.ts'
import { actorPage, type PageContext } from '../pages/shared/layout.ts'
import { localText } from '../pages/languages/local-text.ts'
import { goOn, type PageDeps, pageValues, showPage } from '../pages/shared/page.ts'
import type { PageGroup } from '../pages/shared/page-group.ts'
import { refusedOnPage } from '../pages/shared/refused-on-page.ts'
import type { ActorPageValues, Html, View } from '../pages/shared/values.ts'
import type { ServiceError } from '../errors.ts'
import type { FeaturePage } from './definition.ts'
import { featureRequest } from './request.ts'

interface Needs<Parts> {
  readonly parts: () => Parts
  readonly page: () => PageDeps & { readonly pages: object }
}

/** @param name The name of the feature, under which an application finds its page. */
export function featurePages<Parts, Values extends object>(
  name: string,
  { path, label, icon, after, view }: FeaturePage<Parts, Values>,
): PageGroup {
  return {
    section: { path, label, icon },
    ...(after === undefined ? {} : { after }),
    pages: [
      {
        name,
        template: `aw-actor-www-${name}.html`,
        view: (values: Values & ActorPageValues, context: PageContext): Html => {
          const title = localText(label, values.language)
          return actorPage(values, { ...context, title, section: path }, view(values))
        },
      },
    ],
  }
}

export function pageRoutes<Parts, Values extends object>(
  name: string,
  { path, label, load, submit, freshSignIn, fields = [] }: FeaturePage<Parts, Values>,
  { parts, page }: Needs<Parts>,
): readonly Route[] {
  const show = async (exchange: PageExchange, error: ServiceError | null = null): Promise<HttpResponse> => {
    const deps = page()
    const [values, own] = await Promise.all([pageValues(deps, exchange, path, error), load(parts(), exchange.actor.id)])
    const { [name]: view } = deps.pages as Readonly<Record<string, View<Values & ActorPageValues>>>
    if (view === undefined) throw new Error(`The service has no page ${name}`)
    return showPage(deps, exchange, view({ ...own, ...values }), error?.status)
  }
  const row = { path: `/:actor/www${path}`, access: 'www' } as const
  const shown = defineRoute({
    ...row,
    id: `${name}Page`,
    method: 'GET',
    summary: `The page “${label.en}”`,
    responses: pageResponses,
    handler: (exchange) => show(exchange),
  })
  if (submit === undefined) return [shown]
  const sent = defineRoute({
    ...row,
    id: `${name}Form`,
    method: 'POST',
    summary: `The form of the page “${label.en}”`,
    ...(freshSignIn === true ? { freshSignIn: 'some' } : {}),
    request: pageForm(...fields),
    responses: { ...formResponses, ...writeErrors },
    handler: (exchange) =>
      refusedOnPage(
        exchange,
        async () => {
          if (freshSignIn === true) page().freshSignIn.require(exchange.caller)
          const form = await exchange.body()
          const done = await submit(parts(), { get: (field) => form.get(field) ?? undefined }, featureRequest(exchange))
          return goOn(page(), exchange, form, path, done)
        },
        (error) => show(exchange, error),
      ),
  })
  return [shown, sent]
}
