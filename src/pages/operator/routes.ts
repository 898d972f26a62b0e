/** Routes of `/admin`, the pages of operators. */
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { errorResponses, formResponses, pageResponses } from '../../http/dispatch/schemas.ts'
import {
  actorsQuery,
  changeActor,
  type OperatorPageDeps,
  programsQuery,
  showOperatedActor,
  showActors,
  showDeliveries,
  showPrograms,
  showStatus,
} from './handlers.ts'
import { type OwnerLinkDeps, ownerLinkRoutes } from './owner-link.ts'
import { changeFirst, changeTeam, firstOperatorQuery, showFirst, showTeam, type TeamDeps } from './team-handlers.ts'

export function operatorRoutes(deps: OperatorPageDeps & TeamDeps & OwnerLinkDeps): readonly Route[] {
  return [
    ...ownerLinkRoutes(deps),
    ...teamRoutes(deps),
    defineRoute({
      id: 'operatorStatus',
      method: 'GET',
      path: '/admin',
      access: 'operator',
      page: true,
      summary: 'The state of the service, for operators',
      responses: pageResponses,
      handler: (exchange) => showStatus(deps, exchange),
    }),
    defineRoute({
      id: 'operatorActors',
      method: 'GET',
      path: '/admin/actors',
      access: 'operator',
      page: true,
      summary: 'The actors, newest first, for operators',
      query: actorsQuery,
      responses: pageResponses,
      handler: (exchange) => showActors(deps, exchange),
    }),
    ...oneActorRoutes(deps),
    defineRoute({
      id: 'operatorDeliveries',
      method: 'GET',
      path: '/admin/deliveries',
      access: 'operator',
      page: true,
      summary: 'Deliveries and background work that fail, for operators',
      responses: pageResponses,
      handler: (exchange) => showDeliveries(deps, exchange),
    }),
    defineRoute({
      id: 'operatorPrograms',
      method: 'GET',
      path: '/admin/apps',
      access: 'operator',
      page: true,
      summary: 'The connected programs of all actors, for operators',
      query: programsQuery,
      responses: pageResponses,
      handler: (exchange) => showPrograms(deps, exchange),
    }),
  ]
}

function oneActorRoutes(deps: OperatorPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'operatorActor',
      method: 'GET',
      path: '/admin/actors/:id',
      access: 'operator',
      page: true,
      summary: 'Facts about an actor, for operators. Its activity shows that an operator opened the page',
      responses: pageResponses,
      handler: (exchange) => showOperatedActor(deps, exchange),
    }),
    defineRoute({
      id: 'operatorActorForm',
      method: 'POST',
      path: '/admin/actors/:id',
      access: 'operator',
      page: true,
      freshSignIn: 'all',
      summary:
        'Acts on an actor: `redrive`, `sign_out`, `suspend`, `resume`, `sign_in_link`, `reset_limits` (with `sender`) or `delete` (with its id as `confirmation`)',
      request: pageForm('action', 'sender', 'confirmation'),
      responses: { ...formResponses, ...pageResponses },
      handler: (exchange) => changeActor(deps, exchange),
    }),
  ]
}

function teamRoutes(deps: TeamDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'operatorTeam',
      method: 'GET',
      path: '/admin/operators',
      access: 'operator',
      page: true,
      summary: 'The operators, for operators',
      responses: pageResponses,
      handler: (exchange) => showTeam(deps, exchange),
    }),
    defineRoute({
      id: 'operatorTeamForm',
      method: 'POST',
      path: '/admin/operators',
      access: 'operator',
      page: true,
      freshSignIn: 'all',
      summary: 'Adds an operator (`add`), or removes a stored one (`remove`)',
      request: pageForm('action', 'name'),
      responses: formResponses,
      handler: (exchange) => changeTeam(deps, exchange),
    }),
    defineRoute({
      id: 'firstOperator',
      method: 'GET',
      path: '/admin/first',
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      summary: 'The page of the link that a start prints while the service has no operator. It changes nothing',
      query: firstOperatorQuery,
      responses: { ...pageResponses, ...errorResponses(410, 429) },
      handler: (exchange) => showFirst(deps, exchange),
    }),
    defineRoute({
      id: 'firstOperatorForm',
      method: 'POST',
      path: '/admin/first',
      access: 'visitor',
      page: true,
      summary: 'Binds the link to the browser (`code`), or makes the person who signed in the first operator',
      request: pageForm('code', 'name'),
      responses: { ...formResponses, ...errorResponses(410) },
      handler: (exchange) => changeFirst(deps, exchange),
    }),
  ]
}
