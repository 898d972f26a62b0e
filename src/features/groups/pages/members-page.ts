/** The page of the members of a group, and its form. */
import type { Registry } from '../../../app/registry.ts'
import { managingRoles, memberType, noRoles, rulesOfRole } from '../../../app/kinds/roles.ts'
import { ServiceError } from '../../../errors.ts'
import type { Bodied } from '../../../http/dispatch/define-route.ts'
import type { PageExchange } from '../../../http/dispatch/route.ts'
import type { Params } from '../../../http/edge/params.ts'
import type { HttpResponse } from '../../../http/edge/response.ts'
import { optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import type { Messages } from '../../../pages/languages/language.ts'
import { requireNickname } from '../../../pages/relationships/nickname.ts'
import { explained, pageRefusal } from '../../../pages/shared/error-text.ts'
import { goOn, type PageDeps, pageValues, showPage } from '../../../pages/shared/page.ts'
import { pagingOf, partOf, partQuery } from '../../../pages/shared/paging.ts'
import { type PeerNameDeps, type Peers, peersOf } from '../../../pages/shared/peer-names.ts'
import { formRefusal, inputRefusal, refusedOnPage } from '../../../pages/shared/refused-on-page.ts'
import { roleRights } from '../../../pages/shared/rights.ts'
import { momentOf } from '../../../pages/shared/time.ts'
import type { View } from '../../../pages/shared/values.ts'
import { visible } from '../../../pages/shared/visible.ts'
import { isRequest, type Trust } from '../../../trust/trust.ts'
import { type CreatedInvitation, maxInvitations } from '../../invitations/invitations.ts'
import { invitationDays } from '../../invitations/pages/values.ts'
import type { MemberActs } from '../acts.ts'
import type { Groups } from '../groups.ts'
import type { ShownMember } from '../member-store.ts'
import type { MemberRow, MembersValues, TypedMember } from './values.ts'

export const membersQuery = {
  ...partQuery,
  member: optional(stringField('The id of the only member to show')),
}
type MembersQuery = ValuesOf<typeof membersQuery>

export interface MembersPageDeps extends PageDeps, PeerNameDeps {
  readonly groups: Pick<Groups, 'list'>
  readonly memberActs: MemberActs
  readonly registry: Pick<Registry, 'of'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly pages: { readonly members: View<MembersValues> }
}

interface Shown {
  readonly error: ServiceError | null
  readonly typed: TypedMember
  readonly created: CreatedInvitation | null
}

const path = '/members'
const rowsOnAPage = 50
const dayMs = 86_400_000

/** @throws ServiceError `not_found` for a kind without roles. */
export async function showMembers(
  deps: MembersPageDeps,
  exchange: PageExchange<string, MembersQuery>,
  { error = null, typed = { role: '', nickname: '', days: '7' }, created = null }: Partial<Shown> = {},
): Promise<HttpResponse> {
  const { actor, query, request } = exchange
  const { messages } = deps.languages.of(request)
  const { roles, data } = deps.registry.of(actor)
  const all = await deps.groups.list(actor)
  const [values, peers] = await Promise.all([
    pageValues(deps, exchange, path, error),
    peersOf(deps, actor.id, messages),
  ])
  const isShown = (peerId: string): boolean => query.member === undefined || query.member === peerId
  const order = [...roles.keys()]
  const members = all
    .filter(({ peerId }) => isShown(peerId))
    .toSorted((a, b) => order.indexOf(a.role) - order.indexOf(b.role))
  const paging = pagingOf(query, members.length, rowsOnAPage)
  const managers = managingRoles(roles)
  const managing = all.filter(({ role }) => managers.includes(role))
  const words = { peers, messages, now: deps.now() }
  const page = deps.pages.members({
    ...values,
    form_action: `${values.actor_www}${path}`,
    roles: [...roles].map(([name, role]) => ({
      name,
      description: role.description ?? '',
      manages: role.manages === true,
      rights: roleRights(rulesOfRole(role, data), messages),
    })),
    members: partOf(members, paging, rowsOnAPage).map((member) => ({
      ...rowOf(member, words),
      is_last_manager: managing.length === 1 && managing[0]?.peerId === member.peerId,
    })),
    requests: withoutRole(peers.trusts, memberType(actor.kind), all)
      .filter(({ peerId }) => isShown(peerId))
      .map((trust) => ({
        peer: peers.nameOf(trust.peerId),
        role: '',
        since: momentOf(trust.createdAt, words.now, messages),
        by: '',
        is_last_manager: false,
      })),
    paging,
    is_one: query.member !== undefined,
    created:
      created === null
        ? null
        : {
            url: created.url,
            level: created.invitation.role ?? '',
            ends: momentOf(created.invitation.endsAt, created.invitation.createdAt, messages),
          },
    typed,
  })
  return showPage(deps, exchange, page, error?.status)
}

/** The actors that asked to be members, and those that were approved without a role. */
function withoutRole(trusts: readonly Trust[], type: string, members: readonly ShownMember[]): readonly Trust[] {
  const known = new Set(members.map(({ peerId }) => peerId))
  return trusts.filter(
    (trust) => trust.relationship === type && !known.has(trust.peerId) && (isRequest(trust) || trust.approved),
  )
}

function rowOf(
  { peerId, role, since, givenBy }: ShownMember,
  { peers, messages, now }: { readonly peers: Peers; readonly messages: Messages; readonly now: number },
): Omit<MemberRow, 'is_last_manager'> {
  const { membership: words } = messages
  const by = Object.hasOwn(words.by, givenBy)
    ? words.by[givenBy as keyof typeof words.by]
    : words.byMember(peers.nameOf(givenBy).name)
  return { peer: peers.nameOf(peerId), role: visible(role), since: momentOf(since, now, messages), by }
}

/** Handles the form: gives a role, removes a member, or creates an invitation, whose link only the response shows. */
export async function changeMembers(
  deps: MembersPageDeps,
  exchange: PageExchange<string, MembersQuery> & Bodied<Params>,
): Promise<HttpResponse> {
  const { actor } = exchange
  const sent = await exchange.body()
  const typed = {
    role: sent.get('role') ?? '',
    nickname: sent.get('nickname') ?? '',
    days: sent.get('days') ?? '7',
  }
  const member = sent.get('member') ?? ''
  const { roles } = deps.registry.of(actor)
  const requireGroup = (): void => {
    if (roles.size === 0) throw noRoles(actor.kind)
  }
  const requireRole = (): void => {
    deps.freshSignIn.require(exchange.caller)
    requireGroup()
    if (!roles.has(typed.role))
      throw inputRefusal('choose one of the roles', ({ membership }) => membership.roleUnknown)
  }
  return refusedOnPage(
    exchange,
    async () => {
      switch (sent.get('action')) {
        case 'role':
          requireRole()
          await deps.memberActs.setRole(exchange, member, typed.role).catch(isGone)
          return goOn(deps, exchange, sent, path, 'roleGiven')
        case 'remove':
          requireGroup()
          await deps.memberActs.remove(exchange, member).catch(isGone)
          return goOn(deps, exchange, sent, path, 'memberRemoved')
        case 'invite':
          requireRole()
          return showMembers(deps, exchange, { created: await invite(deps, exchange, typed) })
        default:
          throw formRefusal('the action is unknown')
      }
    },
    (error) => showMembers(deps, exchange, sent.get('action') === 'invite' ? { error, typed } : { error }),
  )
}

/** The page showed a member that left meanwhile. */
function isGone(error: unknown): never {
  if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
  throw pageRefusal('conflict', error.message, ({ membership }) => membership.gone)
}

async function invite(
  deps: MembersPageDeps,
  exchange: PageExchange<string, MembersQuery>,
  { role, nickname, days }: TypedMember,
): Promise<CreatedInvitation> {
  const valid = invitationDays.find((each) => each === days)
  if (valid === undefined) throw formRefusal('days does not exist in the form')
  try {
    return await deps.memberActs.invite(exchange, role, {
      nickname: requireNickname(nickname),
      endsAt: deps.now() + Number(valid) * dayMs,
    })
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'conflict') throw error
    throw explained(error, (words) => words.invite.tooMany(maxInvitations))
  }
}
