import { SignInAge } from '../../permission/sign-in-age.ts'
import { builtInFeature } from '../feature.ts'
import { Invitations } from '../invitations/invitations.ts'
import { MemberActs, memberOwnActs } from './acts.ts'
import { Groups } from './groups.ts'
import { groupsHandle, membersHandle } from './handle.ts'
import { groupOptions } from './options.ts'
import { memberPages } from './pages/page.ts'
import { memberPageRoutes } from './pages/routes.ts'
import { RedeclaredRoles } from './redeclared-roles.ts'
import { memberRoutes } from './routes.ts'
import { memberTable } from './tables.ts'

/** The members of actors of a kind with roles. */
export const groups = builtInFeature({
  name: 'groups',
  needs: ['invitations'],
  tables: [memberTable],
  options: groupOptions,
  pages: memberPages,
  acts: memberOwnActs,
  start: (core) => {
    const { config, facts, now, registry, relationships, trusts } = core
    const invitations = new Invitations({
      ...core,
      defaultRelationship: config.relationship,
      types: relationships.types,
      offered: () => [],
    })
    const members = new Groups({ ...core, invitations })
    core.trustInvited.on(members.invited)
    core.trustEnding.on(members.ending)
    return {
      parts: {
        groups: members,
        memberActs: new MemberActs({ groups: members, signInAge: new SignInAge(core) }),
        facts,
        now,
        registry,
        trusts,
      },
      workers: [new RedeclaredRoles({ ...core, groups: members })],
      handle: {
        members: ({ actor }) => membersHandle(members, actor),
        groups: ({ actor }) => groupsHandle({ ...core, groups: members }, actor),
      },
    }
  },
  routes: ({ config }, parts, page) => [
    ...memberRoutes({
      get groups() {
        return parts().groups
      },
      get memberActs() {
        return parts().memberActs
      },
    }),
    ...(config.webUi ? memberPageRoutes(() => ({ ...page(), ...parts() })) : []),
  ],
})
