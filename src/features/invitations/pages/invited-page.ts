/** Shows an invitation to the person who opened its link. */
import type { Actor } from '../../../actor/actor.ts'
import { rulesOfRole } from '../../../app/kinds/roles.ts'
import type { Registry } from '../../../app/registry.ts'
import { application } from '../../../caller.ts'
import { acceptsPages } from '../../../http/edge/accepts.ts'
import { type HttpResponse, html, json } from '../../../http/edge/response.ts'
import type { PublicExchange } from '../../../http/dispatch/route.ts'
import { type ProviderDeps, wishQuery } from '../../../http/dispatch/sign-in-address.ts'
import { urlOf } from '../../../http/dispatch/urls.ts'
import type { Config } from '../../../config/options.ts'
import { type EffectiveRules, mergeRules } from '../../../permission/rules.ts'
import type { Properties } from '../../../property/properties.ts'
import { wireRules } from '../../../trust/permissions.ts'
import type { Relationships } from '../../../trust/relationships.ts'
import type { Invitation } from '../invitation-store.ts'
import type { Invitations } from '../invitations.ts'
import { linkOf } from '../../../trust/handshake/invitation-link.ts'
import { nameIn, nameProperty } from '../../../pages/settings/display-name.ts'
import { pageRefusal } from '../../../pages/shared/error-text.ts'
import { shownText } from '../../../pages/shared/peer-names.ts'
import { reachInWords, rightsInWords, roleRights } from '../../../pages/shared/rights.ts'
import { inLanguage, type SiteDeps, siteValues } from '../../../pages/shared/site.ts'
import { trustTypeName } from '../../../pages/shared/trust-rows.ts'
import type { View } from '../../../pages/shared/values.ts'
import { visible } from '../../../pages/shared/visible.ts'
import type { InvitedValues } from './values.ts'

export interface InviterDeps {
  readonly properties: Pick<Properties, 'getWithVersion'>
  readonly config: Pick<Config, 'peerProfileAttributes'>
}

export interface InvitedPageDeps extends SiteDeps, ProviderDeps, InviterDeps {
  readonly baseUrl: string
  readonly invitations: Pick<Invitations, 'find'>
  readonly relationships: Relationships
  readonly registry: Pick<Registry, 'of'>
  readonly config: Pick<Config, 'peerProfileAttributes' | 'webUi'>
  readonly pages: { readonly invited: View<InvitedValues> }
}

/** The name that invited people see: the display name, if peers may read it at all. Empty without one. */
export async function inviterName({ properties, config }: InviterDeps, actor: Actor, isGroup = false): Promise<string> {
  // Every member may read the name of a group.
  if (!isGroup && !config.peerProfileAttributes.includes(nameProperty)) return ''
  const { found } = await properties.getWithVersion({ actor, caller: application }, nameProperty)
  return shownText(nameIn(found) ?? '')
}

/** @throws ServiceError `not_found` for an invitation that was used, has ended or never existed. */
export async function showInvited(deps: InvitedPageDeps, exchange: PublicExchange<'code'>): Promise<HttpResponse> {
  const { actor, params, request } = exchange
  const invitation = await deps.invitations.find(actor.id, params.code)
  if (invitation === null)
    throw pageRefusal(
      'not_found',
      'Cannot find the invitation: it was used or has ended',
      ({ invited }) => invited.ended,
    )
  const role = roleOf(deps, actor, invitation)
  const inviter = await inviterName(deps, actor, role !== null)
  if (deps.config.webUi && acceptsPages(request)) return invitedPageOf(deps, exchange, invitation, { inviter, role })
  return json(200, {
    actor: urlOf(deps, actor.id),
    relationship: invitation.relationship,
    ...(inviter === '' ? {} : { name: inviter }),
    ...(role === null ? {} : { membership: { ...role, permissions: wireRules(role.permissions, null) } }),
    ends_at: new Date(invitation.endsAt).toISOString(),
  })
}

/** The role of the invitation to a group, as the application declares it now. Null: an invitation to another relationship. */
function roleOf({ registry }: InvitedPageDeps, actor: Actor, { role }: Invitation): OfferedRole | null {
  if (role === null) return null
  const { facts, roles, data } = registry.of(actor)
  const declared = roles.get(role)
  const permissions = declared === undefined ? {} : mergeRules({}, rulesOfRole(declared, data))
  return { kind: facts?.name ?? actor.kind, role, description: declared?.description ?? '', permissions }
}

interface OfferedRole {
  readonly kind: string
  readonly role: string
  readonly description: string
  readonly permissions: EffectiveRules
}

async function invitedPageOf(
  deps: InvitedPageDeps,
  { actor, params, request, visitor }: PublicExchange<'code'>,
  { relationship }: Invitation,
  { inviter, role }: { readonly inviter: string; readonly role: OfferedRole | null },
): Promise<HttpResponse> {
  const { relationships, basePath } = deps
  const language = deps.languages.of(request)
  const { messages } = language
  const link = linkOf({ baseuri: urlOf(deps, actor.id), code: params.code })
  const person = await visitor.actor()
  const signIn =
    deps.providers.all.length === 0
      ? null
      : `${basePath}/login${wishQuery({ redirect: `${basePath}/${actor.id}/invite/${params.code}` })}`
  const page = await deps.pages.invited({
    ...siteValues(deps, language),
    inviter,
    level: trustTypeName(relationships.types, relationship),
    membership:
      role === null
        ? null
        : {
            group: inviter === '' ? urlOf(deps, actor.id) : inviter,
            kind: role.kind,
            role: { name: role.role, description: role.description, rights: roleRights(role.permissions, messages) },
          },
    rights: rightsInWords(relationships.effective(relationship, null), messages, false).filter(
      ({ is_granted }) => is_granted,
    ),
    reach: reachInWords(relationship, false, messages),
    link,
    signed_in_as: person === null ? null : visible(person.creator),
    is_own: person?.id === actor.id,
    continue_href:
      person === null ? signIn : `${basePath}/${person.id}/www/trust/new?invitation=${encodeURIComponent(link)}`,
  })
  return inLanguage(html(200, page), language)
}
