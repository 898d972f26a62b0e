/** The members of a group, and the groups of a member, for application code. */
import { memberType } from '../../app/kinds/roles.ts'
import type { ActorHandle } from '../../app/actor-handle.ts'
import type { GroupMember, GroupOfActor, MembersHandle } from '../../app/kinds/groups.ts'
import type { PeerFacts } from '../../replica/peer-metadata.ts'
import type { Self } from '../../trust/trust-deps.ts'
import { stateOf } from '../../trust/trust.ts'
import type { Trusts } from '../../trust/trusts.ts'
import type { Groups } from './groups.ts'
import type { ShownMember } from './member-store.ts'

export interface GroupHandleDeps {
  readonly groups: Groups
  readonly trusts: Pick<Trusts, 'list'>
  readonly facts: Pick<PeerFacts, 'find'>
}

export function membersHandle(groups: Groups, group: Self): MembersHandle {
  return {
    list: async () => (await groups.list(group)).map(memberOf),
    async get(id) {
      const found = await groups.find(group, id)
      return found === null ? undefined : memberOf(found)
    },
    async invite(role, { endsAt, ...wish } = {}) {
      const end = endsAt === undefined ? {} : { endsAt: endsAt.getTime() }
      const { invitation, url } = await groups.invite(group, role, { ...wish, ...end })
      const { invitationId: id, createdAt, endsAt: at } = invitation
      return { id, createdAt: new Date(createdAt), endsAt: new Date(at), url }
    },
    setRole: (id, role) => groups.setRole(group, id, { role, by: 'application' }),
    remove: (id) => groups.remove(group, id),
  }
}

function memberOf({ peerId, baseuri, nickname, role, since, givenBy }: ShownMember): GroupMember {
  return { id: peerId, url: baseuri, name: nickname, role, since: new Date(since), by: givenBy }
}

export function groupsHandle(deps: GroupHandleDeps, actor: Self): ActorHandle['groups'] {
  return async ({ kind }) => {
    const related = await deps.trusts.list(actor.id, { relationship: memberType(kind) })
    // The relationships of a group with its own members have the same type.
    const own = actor.kind === kind ? new Set((await deps.groups.list(actor)).map(({ peerId }) => peerId)) : null
    const groups = related.filter((trust) => stateOf(trust).kind === 'mutual' && own?.has(trust.peerId) !== true)
    return Promise.all(
      groups.map(async ({ peerId, baseuri, createdAt }): Promise<GroupOfActor> => {
        const profile = await deps.facts.find({ actorId: actor.id, peerId }, 'profile')
        return { id: peerId, url: baseuri, name: nameIn(profile), since: new Date(createdAt) }
      }),
    )
  }
}

function nameIn(profile: unknown): string {
  const { displayname } = (typeof profile === 'object' ? (profile ?? {}) : {}) as Readonly<Record<string, unknown>>
  return typeof displayname === 'string' ? displayname : ''
}
