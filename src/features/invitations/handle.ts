/** The handle by which applications use the invitations of an actor. */
import type { ActorInvitation, InvitationsHandle } from './handle-types.ts'
import type { Invitation } from './invitation-store.ts'
import type { Invitations } from './invitations.ts'

export function invitationsHandle(invitations: Invitations, actorId: string): InvitationsHandle {
  return {
    create: async ({ endsAt, ...wish } = {}) => {
      const end = endsAt === undefined ? {} : { endsAt: endsAt.getTime() }
      const { invitation, url } = await invitations.create(actorId, { ...wish, ...end })
      return { ...shown(invitation), url }
    },
    list: async () => (await invitations.list(actorId)).map(shown),
    revoke: (id) => invitations.revoke(actorId, id),
  }
}

function shown({ invitationId, relationship, nickname, createdAt, endsAt }: Invitation): ActorInvitation {
  return { id: invitationId, relationship, nickname, createdAt: new Date(createdAt), endsAt: new Date(endsAt) }
}
