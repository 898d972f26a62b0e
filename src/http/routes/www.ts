/** `/<actor>/www`: the pages of the owner. Each part has a file of its own beside this one. */
import { stateOf } from '../../trust/trust.ts'
import type { Answer } from '../answer.ts'
import { pageValues, showPage } from '../page.ts'
import type { PageExchange, Route } from '../route.ts'
import { pageResponses } from '../schemas.ts'

export const wwwRoutes: readonly Route[] = [
  {
    id: 'dashboard',
    method: 'GET',
    path: '/:actor/www',
    access: 'www',
    summary: 'The actor at a glance',
    responses: pageResponses,
    handler: dashboard,
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
]

async function dashboard(exchange: PageExchange): Promise<Answer> {
  const { parts, actor, caller } = exchange
  const [properties, trusts] = await Promise.all([parts.properties.all({ actor, caller }), parts.trusts.list(actor.id)])
  const lists = properties.filter(({ kind }) => kind === 'list').length
  const page = parts.pages.dashboard({
    ...pageValues(exchange, ''),
    passphrase: parts.actors.passphraseOf(actor),
    property_count: properties.length - lists,
    list_count: lists,
    relationship_count: trusts.length,
    waiting_count: trusts.filter((trust) => stateOf(trust).kind === 'pending').length,
  })
  return showPage(exchange, page)
}
