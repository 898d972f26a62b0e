/** Shows an invitation to the person who opened its link. */
import type { Actor } from '../../../actor/actor.ts'
import { application } from '../../../caller.ts'
import { acceptsPages } from '../../../http/edge/accepts.ts'
import { type HttpResponse, html, json } from '../../../http/edge/response.ts'
import type { PublicExchange } from '../../../http/dispatch/route.ts'
import { type ProviderDeps, wishQuery } from '../../../http/dispatch/sign-in-address.ts'
import { urlOf } from '../../../http/dispatch/urls.ts'
import type { Config } from '../../../config/options.ts'
import type { Properties } from '../../../property/properties.ts'
import type { Relationships } from '../../../trust/relationships.ts'
import type { Invitation } from '../invitation-store.ts'
import type { Invitations } from '../invitations.ts'
import { linkOf } from '../../../trust/handshake/invitation-link.ts'
import { nameIn, nameProperty } from '../../../pages/settings/display-name.ts'
import { pageRefusal } from '../../../pages/shared/error-text.ts'
import { shownText } from '../../../pages/shared/peer-names.ts'
import { reachInWords, rightsInWords } from '../../../pages/shared/rights.ts'
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
  readonly config: Pick<Config, 'peerProfileAttributes' | 'webUi'>
  readonly pages: { readonly invited: View<InvitedValues> }
}

/** The name that invited people see: the display name, if peers may read it at all. Empty without one. */
export async function inviterName({ properties, config }: InviterDeps, actor: Actor): Promise<string> {
  if (!config.peerProfileAttributes.includes(nameProperty)) return ''
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
  const inviter = await inviterName(deps, actor)
  if (deps.config.webUi && acceptsPages(request)) return invitedPageOf(deps, exchange, invitation, inviter)
  return json(200, {
    actor: urlOf(deps, actor.id),
    relationship: invitation.relationship,
    ...(inviter === '' ? {} : { name: inviter }),
    ends_at: new Date(invitation.endsAt).toISOString(),
  })
}

async function invitedPageOf(
  deps: InvitedPageDeps,
  { actor, params, request, visitor }: PublicExchange<'code'>,
  { relationship }: Invitation,
  inviter: string,
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
