/** The pages of operators. */
import type { PageGroup } from '../shared/page-group.ts'
import { operatorStyle } from './style.ts'
import { operatedActorPage, operatedActorsPage, ownerLinkPage } from './actor-views.ts'
import { firstOperatorPage, operatorTeamPage } from './team-views.ts'
import { deliveriesPage, programsPage, statusPage } from './service-views.ts'

export const operator = {
  pages: [
    { name: 'operatorStatus', template: 'aw-root-operator-status.html', view: statusPage },
    { name: 'operatorActors', template: 'aw-root-operator-actors.html', view: operatedActorsPage },
    { name: 'operatorActor', template: 'aw-root-operator-actor.html', view: operatedActorPage },
    { name: 'operatorDeliveries', template: 'aw-root-operator-deliveries.html', view: deliveriesPage },
    { name: 'operatorPrograms', template: 'aw-root-operator-programs.html', view: programsPage },
    { name: 'operatorTeam', template: 'aw-root-operator-team.html', view: operatorTeamPage },
    { name: 'ownerLink', template: 'aw-oauth-owner-link.html', view: ownerLinkPage },
    { name: 'firstOperator', template: 'aw-root-operator-first.html', view: firstOperatorPage },
  ],
  styles: [operatorStyle],
} as const satisfies PageGroup
