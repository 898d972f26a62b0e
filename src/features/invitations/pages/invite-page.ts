/** The page on which an owner creates and revokes invitations. */
import { ServiceError } from '../../../errors.ts'
import type { Bodied } from '../../../http/dispatch/define-route.ts'
import type { PageExchange } from '../../../http/dispatch/route.ts'
import type { Params } from '../../../http/edge/params.ts'
import type { HttpResponse } from '../../../http/edge/response.ts'
import type { Relationships } from '../../../trust/relationships.ts'
import type { Config } from '../../../config/options.ts'
import type { InvitationActs } from '../acts.ts'
import { type CreatedInvitation, type Invitations, maxInvitations } from '../invitations.ts'
import { explained } from '../../../pages/shared/error-text.ts'
import { goOn, type PageDeps, pageValues, showPage } from '../../../pages/shared/page.ts'
import { formRefusal, inputRefusal, refusedOnPage } from '../../../pages/shared/refused-on-page.ts'
import { momentOf } from '../../../pages/shared/time.ts'
import { trustTypeName } from '../../../pages/shared/trust-rows.ts'
import type { View } from '../../../pages/shared/values.ts'
import { visible } from '../../../pages/shared/visible.ts'
import { choicesOf } from '../../../pages/relationships/access-review.ts'
import { requireNickname } from '../../../pages/relationships/nickname.ts'
import { type InviterDeps, inviterName } from './invited-page.ts'
import { invitationDays, type TrustInviteValues, type TypedInvitation } from './values.ts'

const path = '/trust/invite'
const dayMs = 86_400_000
const nothingTyped: TypedInvitation = { trust_type: '', nickname: '', days: '7' }

export interface InvitePageDeps extends PageDeps, InviterDeps {
  readonly invitations: Pick<Invitations, 'list'>
  readonly invitationActs: InvitationActs
  readonly relationships: Relationships
  readonly now: () => number
  readonly config: Pick<Config, 'clientTrustTypes' | 'peerProfileAttributes' | 'relationship'>
  readonly pages: { readonly trustInvite: View<TrustInviteValues> }
}

interface Shown {
  readonly error: ServiceError | null
  readonly typed: TypedInvitation
  readonly created: CreatedInvitation | null
}

export async function showInvite(
  deps: InvitePageDeps,
  exchange: PageExchange,
  shown: Partial<Shown> = {},
): Promise<HttpResponse> {
  const { error = null, typed = nothingTyped, created = null } = shown
  const { actor, request } = exchange
  const { messages } = deps.languages.of(request)
  const { types } = deps.relationships
  const now = deps.now()
  const [values, invitations, inviter] = await Promise.all([
    pageValues(deps, exchange, path, error),
    deps.invitations.list(actor.id),
    inviterName(deps, actor),
  ])
  const page = deps.pages.trustInvite({
    ...values,
    form_action: `${values.actor_www}${path}`,
    trust_types: choicesOf(deps, messages).filter((choice) => !choice.needs_confirmation),
    default_relationship: deps.config.relationship,
    inviter,
    created:
      created === null
        ? null
        : {
            url: created.url,
            level: trustTypeName(types, created.invitation.relationship),
            ends: momentOf(created.invitation.endsAt, created.invitation.createdAt, messages),
          },
    invitations: invitations.map(({ invitationId, relationship, nickname, role, endsAt }) => ({
      id: invitationId,
      level: `${trustTypeName(types, relationship)}${role === null ? '' : `: ${role}`}`,
      nickname: visible(nickname),
      ends: momentOf(endsAt, now, messages),
    })),
    typed,
  })
  return showPage(deps, exchange, page, error?.status)
}

/** Handles the form: creates an invitation, whose link only the response shows, or revokes one. */
export async function changeInvitations(
  deps: InvitePageDeps,
  exchange: PageExchange & Bodied<Params>,
): Promise<HttpResponse> {
  const sent = await exchange.body()
  const typed = {
    trust_type: sent.get('trust_type') ?? '',
    nickname: sent.get('nickname') ?? '',
    days: sent.get('days') ?? '7',
  }
  return refusedOnPage(
    exchange,
    async () => {
      switch (sent.get('action')) {
        case 'create':
          deps.freshSignIn.require(exchange.caller)
          return showInvite(deps, exchange, { created: await create(deps, exchange, typed) })
        case 'revoke':
          await deps.invitationActs.revoke(exchange, sent.get('invitation') ?? '').catch(isGone)
          return goOn(deps, exchange, sent, path, 'invitationRevoked')
        default:
          throw formRefusal('the action is unknown')
      }
    },
    (error) => showInvite(deps, exchange, { error, typed }),
  )
}

/** An invitation that was used, revoked or has ended cannot be used, which is what the owner wants. */
function isGone(error: unknown): void {
  if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
}

async function create(
  deps: InvitePageDeps,
  exchange: PageExchange,
  { trust_type: relationship, nickname, days }: TypedInvitation,
): Promise<CreatedInvitation> {
  const { messages } = deps.languages.of(exchange.request)
  const isOffered = choicesOf(deps, messages).some(
    (choice) => choice.name === relationship && !choice.needs_confirmation,
  )
  if (!isOffered)
    throw inputRefusal('choose one of the access levels', ({ peerErrors }) => peerErrors.levelUnknown, 'trust_type')
  const valid = invitationDays.find((each) => each === days)
  if (valid === undefined) throw formRefusal('days does not exist in the form')
  try {
    return await deps.invitationActs.create(exchange, {
      relationship,
      nickname: requireNickname(nickname),
      endsAt: deps.now() + Number(valid) * dayMs,
    })
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'conflict') throw error
    throw explained(error, ({ invite }) => invite.tooMany(maxInvitations))
  }
}
