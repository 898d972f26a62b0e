/** `/<actor>/www`: the pages of the owner. Each part has a file of its own beside this one. */
import { ServiceError } from '../../errors.ts'
import { stateOf } from '../../trust/trust.ts'
import { type Answer, json, redirect } from '../../http/edge/response.ts'
import { readUrlencodedForm } from '../../http/edge/body.ts'
import { wordsFor } from '../approvals/approval-words.ts'
import { clearCookies, clearedSignedInMark } from '../../http/edge/cookies.ts'
import { noticeCookie } from '../../http/dispatch/flash-messages.ts'
import { pageValues, showPage } from '../shared/page.ts'
import type { Params } from '../../http/edge/params.ts'
import { peersOf } from '../shared/peer-names.ts'
import { formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import type { PageExchange, Route } from '../../http/dispatch/route.ts'
import { errorResponses, formResponses, formSchema, pageResponses } from '../../http/dispatch/schemas.ts'

export const wwwRoutes: readonly Route[] = [
  {
    id: 'dashboard',
    method: 'GET',
    path: '/:actor/www',
    access: 'www',
    summary: 'The actor at a glance',
    responses: pageResponses,
    handler: (exchange) => dashboard(exchange),
  },
  {
    id: 'deleteActorForm',
    method: 'POST',
    path: '/:actor/www',
    access: 'www',
    summary: 'Deletes the actor (`delete`), with the owner’s name typed as `confirmation`',
    request: formSchema('action', 'confirmation'),
    responses: formResponses,
    handler: deleteActor,
  },
  {
    id: 'firstSteps',
    method: 'GET',
    path: '/:actor/www/init',
    access: 'www',
    summary: 'First steps with a new actor',
    responses: pageResponses,
    handler: (exchange) => showPage(exchange, exchange.parts.pages.init(pageValues(exchange, '/init'))),
  },
  {
    id: 'ownPage',
    method: 'GET',
    path: '/:actor/www/*',
    access: 'www',
    summary: 'A page of the application’s own',
    responses: pageResponses,
    handler: (exchange) => own(exchange, exchange.query),
  },
  {
    id: 'ownPageForm',
    method: 'POST',
    path: '/:actor/www/*',
    access: 'www',
    summary: 'A form on a page of the application’s own',
    request: { 'application/x-www-form-urlencoded': { type: 'object' } },
    responses: { ...pageResponses, ...errorResponses(400, 413, 415) },
    handler: async (exchange) => own(exchange, await readUrlencodedForm(exchange.request, exchange.parts.config)),
  },
]

/** Asks the application, which alone knows what there is below its addresses. */
async function own(exchange: PageExchange, fields: Params): Promise<Answer> {
  const { parts, actor, caller, rest, request } = exchange
  const path = rest.join('/')
  const method = request.method === 'POST' ? 'POST' : 'GET'
  const found = await parts.operations.page(
    { actor, caller },
    { path, method, fields: Object.fromEntries(fields.entries) },
  )
  if (found === null) throw new ServiceError('not_found', 'There is no such page')
  if (found.kind === 'data') return json(200, found.data)
  const page = parts.pages.find(found.template)
  if (page === null)
    throw new ServiceError('server_error', undefined, { reason: `No page is called ${found.template}` })
  const values = pageValues(exchange, `/${rest.map(encodeURIComponent).join('/')}`)
  return showPage(exchange, page({ ...values, ...found.data }))
}

/** Of what waits. */
const mostNamed = 10

async function dashboard(
  exchange: PageExchange,
  error: ServiceError | null = null,
  typedConfirmation = '',
): Promise<Answer> {
  const { parts, actor, caller } = exchange
  const [properties, peers, approvals, passwords] = await Promise.all([
    parts.properties.all({ actor, caller }),
    peersOf(exchange),
    parts.approvals.waiting(actor.id),
    parts.passwordAccess.list(actor.id),
  ])
  const undecided = passwords.filter(({ decision }) => decision === 'pending').length
  const lists = properties.filter(({ kind }) => kind === 'list').length
  const values = pageValues(exchange, '', error)
  const asking = peers.trusts
    .filter((trust) => stateOf(trust).kind === 'pending')
    .map(({ peerId }) => peers.nameOf(peerId))
  const waiting = [
    ...(undecided === 0
      ? []
      : [{ text: 'A program created an account under your name', href: `${values.actor_www}/password-access` }]),
    ...approvals.map((approval) => ({
      text: `${peers.nameOf(approval.peerId).name} wants to: ${wordsFor(parts, approval).title}`,
      href: `${values.actor_www}/approvals/${encodeURIComponent(approval.approvalId)}`,
    })),
    ...asking.map(({ name, href }) => ({ text: `${name} asks for a relationship`, href })),
  ]
  const page = parts.pages.dashboard({
    ...values,
    passphrase: parts.actors.passphraseOf(actor),
    property_count: properties.length - lists,
    list_count: lists,
    relationship_count: peers.trusts.length,
    waiting_count: asking.length,
    password_count: Math.min(undecided, 1),
    approval_count: approvals.length,
    app_count: peers.trusts.filter(({ peerId }) => peers.nameOf(peerId).is_app).length,
    typed_confirmation: typedConfirmation,
    waiting: waiting.slice(0, mostNamed),
  })
  return showPage(exchange, page, error?.status)
}

/** There is no way back, so the owner types who they are. */
async function deleteActor(exchange: PageExchange): Promise<Answer> {
  const { parts, actor } = exchange
  const sent = await readUrlencodedForm(exchange.request, exchange.parts.config)
  return refusedOnPage(
    exchange,
    async () => {
      if (sent.get('action') !== 'delete') throw formRefusal('the action is not delete')
      if ((sent.get('confirmation') ?? '').trim().toLowerCase() !== actor.creator.toLowerCase())
        throw new ServiceError('bad_request', `Cannot delete the actor: what was typed is not “${actor.creator}”`, {
          field: 'confirmation',
        })
      await parts.actors.deleteWithEvents(actor)
      const cookies = [...clearCookies(), ...clearedSignedInMark(exchange.request), noticeCookie('accountDeleted')]
      return { ...redirect(302, `${parts.baseUrl}/`), cookies }
    },
    (error) => dashboard(exchange, error, sent.get('confirmation') ?? ''),
  )
}
