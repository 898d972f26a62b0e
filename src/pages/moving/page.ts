/** Moves an account to another service, and takes one that came from there. */
import type { PageGroup } from '../shared/page-group.ts'
import { arrivalPage } from './arrival-view.ts'
import { movePage } from './view.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, pageResponses } from '../../http/dispatch/schemas.ts'
import { changeMove, type MovePageDeps, showMove } from './move-page.ts'

function movePageRoutes(deps: MovePageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'movePage',
      method: 'GET',
      path: '/:actor/www/move',
      access: 'www',
      servesMoving: true,
      summary: 'A form to move the account to another service, and the outcome of earlier moves',
      responses: pageResponses,
      handler: (exchange) => showMove(deps, exchange),
    }),
    defineRoute({
      id: 'moveForm',
      method: 'POST',
      path: '/:actor/www/move',
      access: 'www',
      freshSignIn: 'some',
      servesMoving: true,
      summary: 'Begins a move (`begin`, with `to`), stops it (`stop`), or tries peers again (`retry`)',
      request: pageForm('action', 'to'),
      responses: formResponses,
      handler: (exchange) => changeMove(deps, exchange),
    }),
  ]
}

export const moving = {
  pages: [
    { name: 'move', template: 'aw-actor-www-move.html', view: movePage },
    { name: 'arrival', template: 'aw-moves-claim.html', view: arrivalPage },
  ],
  routes: movePageRoutes,
} as const satisfies PageGroup
