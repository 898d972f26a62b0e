import { typesForPeople } from '../../permission/offered-types.ts'
import { SignInAge } from '../../permission/sign-in-age.ts'
import { builtInFeature } from '../feature.ts'
import { InvitationActs, invitationOwnActs } from './acts.ts'
import { invitationsHandle } from './handle.ts'
import { deleteInvitation } from './invitation-store.ts'
import { findByCode, Invitations } from './invitations.ts'
import { invitePageRoutes } from './pages/invite-routes.ts'
import { invitationLinkRoutes } from './pages/link-routes.ts'
import { invitationPages } from './pages/page.ts'
import { invitationRoutes } from './routes/invitations.ts'
import { invitationTable } from './tables.ts'

/** Links by which the owner of an actor approves a relationship in advance. */
export const invitations = builtInFeature({
  name: 'invitations',
  tables: [invitationTable],
  pages: invitationPages,
  acts: invitationOwnActs,
  start: (core) => {
    const { config, now, properties, providers, registry, relationships } = core
    const created = new Invitations({
      ...core,
      defaultRelationship: config.relationship,
      types: relationships.types,
      offered: () => typesForPeople(relationships.types, config.clientTrustTypes),
    })
    return {
      parts: {
        invitations: created,
        invitationActs: new InvitationActs({ invitations: created, signInAge: new SignInAge(core) }),
        config,
        now,
        properties,
        providers,
        registry,
        relationships,
      },
      handle: { invitations: ({ actor }) => invitationsHandle(created, actor.id) },
      advanceApprovals: {
        find: async (q, actorId, code) => {
          const found = await findByCode(q, { actorId, code, now: now() })
          return found === null ? null : { ...found, use: (tx) => deleteInvitation(tx, found) }
        },
      },
    }
  },
  routes: (facts, parts, page) => {
    const deps = () => ({ ...page(), ...parts() })
    return [
      ...invitationRoutes(facts, parts),
      ...invitationLinkRoutes(deps),
      ...(facts.config.webUi ? invitePageRoutes(deps) : []),
    ]
  },
})
