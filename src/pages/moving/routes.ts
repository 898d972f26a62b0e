/** Routes of `/<actor>/www/move`. */
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, pageResponses } from '../../http/dispatch/schemas.ts'
import { changeMove, type MovePageDeps, showMove } from './move-page.ts'

export function movePageRoutes(deps: MovePageDeps): readonly Route[] {
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
