/** The page on which owners choose their messages, and the links that turn a kind off. */
import { html } from 'hono/html'
import { ServiceError } from '../../errors.ts'
import { objectSchema, optional, stringField, type ValuesOf } from '../../json/fields.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { pageForm, type RequestBody } from '../../http/dispatch/request-body.ts'
import type { PageExchange, PublicExchange, Route } from '../../http/dispatch/route.ts'
import { errorResponses, formResponses, pageResponses } from '../../http/dispatch/schemas.ts'
import { type HttpResponse, html as htmlResponse } from '../../http/edge/response.ts'
import { page } from '../../pages/shared/layout.ts'
import { goOn, type PageDeps, pageValues, showPage } from '../../pages/shared/page.ts'
import { inLanguage, siteValues } from '../../pages/shared/site.ts'
import type { View } from '../../pages/shared/values.ts'
import type { KeyRing } from '../../secret/key-ring.ts'
import type { Store } from '../../store/store.ts'
import { findDeclined, type OptionalKind, optionalKinds, putChoice } from './choice-store.ts'
import type { MailPageValues } from './page.ts'
import { kindOfLink } from './unsubscribe.ts'

export interface MailRouteDeps extends PageDeps {
  readonly pages: { readonly mail: View<MailPageValues> }
  readonly store: Store
  readonly keyRing: KeyRing
  readonly now: () => number
}

const linkQuery = {
  kind: optional(stringField('The kind of messages')),
  proof: optional(stringField('The proof of the link')),
}
const oneClickForm = objectSchema({
  'List-Unsubscribe': optional(stringField('`One-Click` from a mail program (RFC 8058)')),
})
/** The query decides. Mail programs send either form (RFC 8058, 3.1), so the content of the body does not matter. */
const oneClickBody: RequestBody<Uint8Array> = {
  content: { 'application/x-www-form-urlencoded': oneClickForm, 'multipart/form-data': oneClickForm },
  read: ({ request, bodyLimits }) => request.body(bodyLimits.maxBodyBytes),
}

/** @param deps Only handlers may call it. @param hasPages Whether the service shows pages to owners. */
export function mailRoutes(deps: () => MailRouteDeps, hasPages: boolean): readonly Route[] {
  return [...(hasPages ? choiceRoutes(deps) : []), ...linkRoutes(deps)]
}

function choiceRoutes(deps: () => MailRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'mailPage',
      method: 'GET',
      path: '/:actor/www/mail',
      access: 'www',
      summary: 'The kinds of messages that the owner receives by email',
      responses: pageResponses,
      handler: (exchange) => showChoices(deps(), exchange),
    }),
    defineRoute({
      id: 'mailForm',
      method: 'POST',
      path: '/:actor/www/mail',
      access: 'www',
      summary: 'Changes these kinds: each field names one that the owner receives',
      request: pageForm(...optionalKinds),
      responses: formResponses,
      handler: async (exchange) => {
        const sent = await exchange.body()
        const choices = optionalKinds.map((kind) => [kind, sent.has(kind)] as const)
        await choose(deps(), exchange.actor.id, choices)
        return goOn(deps(), exchange, sent, '/mail', 'saved')
      },
    }),
  ]
}

function linkRoutes(deps: () => MailRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'unsubscribePage',
      method: 'GET',
      path: '/:actor/mail/unsubscribe',
      access: 'public',
      page: true,
      summary: 'The page of the link in a message, which turns messages of its kind off',
      query: linkQuery,
      responses: { 200: { text: 'The page', type: 'text/html' }, ...errorResponses(403, 404) },
      handler: (exchange) => showLink(deps(), exchange, false),
    }),
    defineRoute({
      id: 'unsubscribe',
      method: 'POST',
      path: '/:actor/mail/unsubscribe',
      access: 'public',
      page: true,
      summary: 'Turns messages of the kind off, without a sign-in (RFC 8058)',
      query: linkQuery,
      request: oneClickBody,
      responses: { 200: { text: 'The page', type: 'text/html' }, ...errorResponses(403, 404) },
      handler: async (exchange) => {
        await exchange.body()
        const { actor, query } = exchange
        await choose(deps(), actor.id, [[requireKind(deps(), actor.id, query), false]])
        return showLink(deps(), exchange, true)
      },
    }),
  ]
}

/** @throws ServiceError `forbidden` */
function requireKind({ keyRing }: MailRouteDeps, actorId: string, link: ValuesOf<typeof linkQuery>): OptionalKind {
  const kind = kindOfLink(keyRing, actorId, { kind: link.kind, proof: link.proof })
  if (kind === null) throw new ServiceError('forbidden', 'Cannot turn messages off: the link is not valid')
  return kind
}

async function choose(
  { store, now }: MailRouteDeps,
  actorId: string,
  choices: readonly (readonly [OptionalKind, isWanted: boolean])[],
): Promise<void> {
  await store.writeActor(actorId, async (tx) => {
    for (const [kind, isWanted] of choices) await putChoice(tx, actorId, kind, { isWanted, now: now() })
  })
}

async function showChoices(deps: MailRouteDeps, exchange: PageExchange): Promise<HttpResponse> {
  const [values, declined] = await Promise.all([
    pageValues(deps, exchange, '/mail'),
    deps.store.read((q) => findDeclined(q, exchange.actor.id)),
  ])
  const kinds = optionalKinds.map((name) => ({ name, is_wanted: !declined.has(name) }))
  return showPage(deps, exchange, deps.pages.mail({ ...values, kinds, form_action: `${values.actor_www}/mail` }))
}

/** A mail scanner opens links, so the page of a link changes nothing. */
function showLink(
  deps: MailRouteDeps,
  { request, actor, query }: PublicExchange<never, ValuesOf<typeof linkQuery>>,
  isDone: boolean,
): HttpResponse {
  const kind = requireKind(deps, actor.id, query)
  const language = deps.languages.of(request)
  const { messages } = language
  const { mail: words } = messages
  const title = isDone ? words.unsubscribed : words.unsubscribe
  const action = `${deps.basePath}/${actor.id}/mail/unsubscribe?kind=${kind}&proof=${query.proof ?? ''}`
  const content = html`
<section class="card"><h1>${title}</h1>
${
  isDone
    ? html`<p class="lead" role="status">${words.unsubscribedText}</p>`
    : html`<p class="lead">${words.unsubscribeText(words.kinds[kind])}</p>
<form method="post" action="${action}"><button type="submit">${words.unsubscribe}</button></form>`
}</section>`
  return inLanguage(htmlResponse(200, page({ ...siteValues(deps, language), title, messages }, content)), language)
}
