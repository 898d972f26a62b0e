/** The page that shows what a peer sees of the actor, read with the peer's rights. */
import type { Declared } from '../../mcp/catalogue/declared.ts'
import { decide } from '../../permission/decision.ts'
import type { EffectiveRules } from '../../permission/rules.ts'
import { valueOf } from '../../property/kinds.ts'
import type { Access } from '../../property/access.ts'
import type { Trust } from '../../trust/trust.ts'
import type { Messages } from '../languages/language.ts'
import { callerOf } from '../../authorization-server/apps/current-access.ts'
import { verbOf } from '../shared/rights.ts'
import type { SeenOperation, SeenProperty } from './values.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { pageValues, showPage } from '../shared/page.ts'
import { pagingOf, partOf, type PartQuery } from '../shared/paging.ts'
import { peerName } from '../shared/peer-names.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { itemsShown, seenList, seenValue } from '../shared/seen-property.ts'
import { trustRow } from '../shared/trust-rows.ts'
import type { RelationshipPageDeps } from './deps.ts'

const rowsOnAPage = 50

export async function showViewAsPeer(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PartQuery>,
): Promise<HttpResponse> {
  const { actor, params, query } = exchange
  const { messages } = deps.languages.of(exchange.request)
  const peerId = params['peerid'] ?? ''
  const [{ trust, override, effective }, profile] = await Promise.all([
    deps.permissions.require(actor.id, peerId),
    deps.facts.find({ actorId: actor.id, peerId }, 'profile'),
  ])
  const caller = callerOf(trust)
  const access = { actor, caller }
  const [named, pieces, methods, actions, tools] = await Promise.all([
    namesFor(deps, access),
    deps.properties.parts(access),
    deps.operations.list(access, 'methods'),
    deps.operations.list(access, 'actions'),
    caller.kind === 'client' ? deps.mcp.offers.tools({ actor, caller, remembered: rememberedOf(trust) }) : null,
  ])
  const rules = trust.approved ? effective : {}
  const paging = pagingOf(query, named.length, rowsOnAPage)
  const onPage = partOf(named, paging, rowsOnAPage)
  const values = await pageValues(deps, exchange, `/trust/${encodeURIComponent(peerId)}/view`)
  const page = deps.pages.trustView({
    ...values,
    trust: trustRow(
      deps,
      trust,
      { peer: peerName(trust, profile, values.actor_www, messages), isCustom: override !== null },
      messages,
    ),
    properties: await seenOnPage(deps, access, onPage, { rules, messages }),
    parts: pieces.map(({ path, value }) => {
      const name = path.join('/')
      return seenValue({ name, may: mayWith(rules, name, messages) }, value, messages)
    }),
    paging,
    methods,
    actions,
    tools: tools?.map((tool) => withApproval(deps.declared.of(access.actor), tool)) ?? null,
  })
  return showPage(deps, exchange, page)
}

/** The names alone: the short values of all pages may not fit into memory together. */
async function namesFor(
  { properties }: Pick<RelationshipPageDeps, 'properties'>,
  access: Access,
): Promise<readonly string[]> {
  const names: string[] = []
  for await (const page of properties.namePages(access)) for (const { name } of page) names.push(name)
  return names
}

/** The properties of a page as the peer sees them. */
async function seenOnPage(
  { properties }: Pick<RelationshipPageDeps, 'properties'>,
  access: Access,
  names: readonly string[],
  { rules, messages }: { readonly rules: EffectiveRules; readonly messages: Messages },
): Promise<readonly SeenProperty[]> {
  const seen: SeenProperty[] = []
  for await (const { shown, lists } of properties.starts(access, itemsShown, names)) {
    for (const property of shown) {
      const { name } = property
      const value = valueOf(property)
      const content = lists.get(name)
      if (value !== null) seen.push(seenValue({ name, may: mayWith(rules, name, messages) }, value, messages))
      if (content === undefined) continue
      const list = { length: content.metadata.length, items: content.items ?? [] }
      seen.push(seenList({ name, may: mayWith(rules, name, messages, true) }, list, messages))
    }
  }
  return seen
}

function withApproval(declared: Declared, { name, description }: SeenOperation): SeenOperation {
  return declared.needsApproval('tools', name) ? { name, description, confirm: 'owner' } : { name, description }
}

function rememberedOf({ facts }: Trust) {
  const { client_name: consented, client_claimed_name: name = consented, client_version: version } = facts
  return name === undefined ? null : { name, version }
}

function mayWith(rules: EffectiveRules, name: string, messages: Messages, canAppend = false): string[] {
  const may = (operation: string): boolean => decide(rules, { category: 'properties', operation, target: name }).allowed
  return ['read', 'append', 'write', 'delete']
    .filter((operation) => operation !== 'append' || (canAppend && !may('write')))
    .filter(may)
    .map((operation) => verbOf(operation, messages))
}
