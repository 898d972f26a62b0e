/** Computes what a trust type allows a peer in the owner's account, from the rules that the service enforces. */
import { hash } from 'node:crypto'
import type { Config } from '../../config/options.ts'
import type { Override } from '../../trust/override-store.ts'
import { typesForPeople } from '../../permission/offered-types.ts'
import { decide } from '../../permission/decision.ts'
import { uriOf } from '../../permission/property-address.ts'
import { holdsItems } from '../../property/kinds.ts'
import {
  type EffectiveRules,
  grantableOf,
  mergeRules,
  type RuledCategory,
  ruledCategories,
} from '../../permission/rules.ts'
import type { OfferedRole } from '../../trust/handshake/peer-calls.ts'
import { shownText } from '../shared/peer-names.ts'
import { reachInWords, rightsInWords, roleRights, verbOf } from '../shared/rights.ts'
import type { AccessReview, DataAccess, TrustTypeChoice } from './values.ts'
import type { Messages } from '../languages/language.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { trustTypeName } from '../shared/trust-rows.ts'
import { filterInTurns } from '../../permission/in-turns.ts'
import type { RelationshipPageDeps } from './deps.ts'

/** Returns the trust types for people, least access first, each with its rights in words. */
export function choicesOf(
  deps: Pick<RelationshipPageDeps, 'relationships'> & { readonly config: Pick<Config, 'clientTrustTypes'> },
  messages: Messages,
): readonly TrustTypeChoice[] {
  const { types } = deps.relationships
  return typesForPeople(types, deps.config.clientTrustTypes).map(({ name, display_name, description }) => ({
    name,
    display_name,
    description,
    rights: rightsInWords(deps.relationships.effective(name, null), messages, false).filter(
      ({ is_granted }) => is_granted,
    ),
    reach: reachInWords(name, false, messages),
    needs_confirmation: types.needsConfirmation(name),
  }))
}

export interface OwnNames {
  readonly names: { readonly [category in RuledCategory]: readonly string[] }
  /** The properties that are lists, by name. */
  readonly lists: ReadonlySet<string>
}

/** Returns the current names in the account by category, and which of the properties are lists. */
export async function ownNames(
  deps: RelationshipPageDeps,
  { actor, caller }: PageExchange,
  isApp: boolean,
): Promise<OwnNames> {
  const declared = deps.declared.of(actor).names(isApp)
  const properties: string[] = []
  const resources: string[] = [...declared.resources]
  const lists = new Set<string>()
  for await (const page of deps.properties.namePages({ actor, caller }))
    for (const { name, kind } of page) {
      properties.push(name)
      if (isApp) resources.push(uriOf(name))
      if (holdsItems(kind)) lists.add(name)
    }
  const ofFeatures: { [category in RuledCategory]?: readonly string[] } = {}
  for (const { category, read } of deps.featureNames)
    ofFeatures[category] = (await Array.fromAsync(read(actor.id, caller))).flat()
  return { names: { properties, files: [], ...declared, resources, ...ofFeatures }, lists }
}

/** @param fields Hidden fields of the form that executes the reviewed change. */
export async function accessReview(
  deps: RelationshipPageDeps,
  exchange: PageExchange,
  about: {
    readonly who: string
    readonly relationship: string
    readonly override: Override | null
    readonly isApp: boolean
    /** The role at a group that the peer gives in return. Default: none. */
    readonly offered?: OfferedRole | null
    readonly fields: Readonly<Record<string, string>>
  },
): Promise<AccessReview> {
  const { relationships } = deps
  const { who, relationship, override, isApp, offered = null, fields } = about
  const rules = relationships.effective(relationship, override)
  const { messages } = deps.languages.of(exchange.request)
  return {
    who,
    level: trustTypeName(relationships.types, relationship),
    rights: rightsInWords(rules, messages, isApp),
    reach: reachInWords(relationship, isApp, messages),
    now: await dataAccess(rules, await ownNames(deps, exchange, isApp), isApp, messages),
    membership:
      offered === null
        ? null
        : {
            group: who,
            kind: shownText(offered.kind),
            role: {
              name: shownText(offered.role),
              description: shownText(offered.description),
              rights: roleRights(mergeRules({}, offered.rules), messages),
            },
          },
    needs_confirmation: relationships.types.needsConfirmation(relationship),
    fields: { ...fields, reviewed: reviewedVersion(relationship, rules, offered) },
  }
}

/** Returns the version of the reviewed rules. If the rights have changed since, the owner reviews them again. */
function reviewedVersion(relationship: string, rules: EffectiveRules, offered: OfferedRole | null): string {
  const reviewed = offered === null ? [relationship, rules] : [relationship, rules, offered]
  return hash('sha256', JSON.stringify(reviewed), 'base64url').slice(0, 22)
}

/** Maximum number of names to show. */
const maxNamed = 20

async function dataAccess(
  rules: EffectiveRules,
  { names, lists }: OwnNames,
  isApp: boolean,
  messages: Messages,
): Promise<readonly DataAccess[]> {
  const categories = isApp ? ruledCategories : (['properties', 'files', 'methods', 'actions'] as const)
  const found: DataAccess[] = []
  for (const category of categories) {
    for (const operation of grantableOf[category]) {
      // Only lists accept items.
      const all = operation === 'append' ? [...lists] : names[category]
      const reached = await filterInTurns(all, (target) => decide(rules, { category, operation, target }).allowed)
      if (reached.length === 0) continue
      const inWords = messages.reached[operation === 'append' ? 'lists' : category]
      found.push({
        text: inWords(verbOf(operation, messages), reached.length, all.length),
        names: reached.slice(0, maxNamed),
        more: Math.max(0, reached.length - maxNamed),
      })
    }
  }
  return found
}
